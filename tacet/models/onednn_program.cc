#include "tacet/models/onednn_program.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "tacet/base/cpu.h"
#include "tacet/models/layer_norm.h"
#include "tacet/models/max_pool.h"
#include "tacet/models/onednn_versions.h"

// Part of the OpenMP runtime that oneDNN uses; sets the count for the calling thread only.
extern "C" void omp_set_num_threads(int threads);

namespace tacet::models {
namespace {

using dnnl::algorithm;
using dnnl::prop_kind;
using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

constexpr auto kFloat = dnnl::memory::data_type::f32;
constexpr int64_t kFrontSlice = 2;  // samples; 0.8 MB of femnist-cnn's first map

// Batches of vectors have two dimensions, batches of images four.
bool IsVector(const Shape& shape) { return shape.height == 1 && shape.width == 1; }

Dims BatchDims(int64_t batch, const Shape& shape) {
  if (IsVector(shape)) return {batch, static_cast<int64_t>(shape.channels)};
  return {batch, static_cast<int64_t>(shape.channels), static_cast<int64_t>(shape.height),
          static_cast<int64_t>(shape.width)};
}

Desc PlainBatch(int64_t batch, const Shape& shape) {
  return Desc(BatchDims(batch, shape), kFloat, IsVector(shape) ? Tag::nc : Tag::nchw);
}

Desc AnyLayout(const Dims& dims) { return Desc(dims, kFloat, Tag::any); }

Desc BiasDesc(const Layer& layer) {
  return Desc({static_cast<int64_t>(layer.biases)}, kFloat, Tag::x);
}

int64_t Batch(const dnnl::memory& memory) { return DimsOf(memory.get_desc())[0]; }

// The layouts that MaxPool understands; `inner` as in PoolShape.
struct MapLayout {
  Tag tag = Tag::nchw;
  int64_t inner = 1;
};

// For a batch of maps; plain nchw when it is none of them.
MapLayout LayoutOf(const Desc& maps) {
  const Dims dims = DimsOf(maps);
  for (const MapLayout& layout :
       {MapLayout{Tag::nChw16c, 16}, MapLayout{Tag::nChw8c, 8}, MapLayout{Tag::nhwc, dims[1]}}) {
    if (dims[1] % layout.inner == 0 && maps == Desc(dims, kFloat, layout.tag)) return layout;
  }
  return {};
}

PoolShape PoolShapeOf(const Desc& maps, const MapLayout& layout) {
  const Dims dims = DimsOf(maps);
  return {static_cast<size_t>(dims[0] * dims[1] / layout.inner), static_cast<size_t>(dims[2]),
          static_cast<size_t>(dims[3]), static_cast<size_t>(layout.inner)};
}

NormShape NormShapeOf(const Layer& layer, int64_t samples) {
  return {static_cast<size_t>(samples), layer.input.size(), static_cast<float>(layer.gain)};
}

bool IsFusedRelu(const std::vector<Layer>& layers, size_t i) {
  return layers[i].kind == LayerKind::kRelu && i > 0 && layers[i - 1].kind == LayerKind::kMaxPool;
}

template <typename T>
T* Data(const dnnl::memory& memory) {
  return static_cast<T*>(memory.get_data_handle());
}

size_t BytesPerSample(const Desc& batch) {
  return batch.get_size() / static_cast<size_t>(DimsOf(batch)[0]);
}

bool HasFront(const std::vector<Layer>& layers) {
  return layers.size() > 2 && layers[0].kind == LayerKind::kConvolution &&
         layers[1].kind == LayerKind::kMaxPool;
}

Dims WeightDims(const Layer& layer) {
  const auto outputs = static_cast<int64_t>(layer.output.channels);
  if (layer.kind == LayerKind::kConvolution) {
    const auto kernel = static_cast<int64_t>(layer.kernel);
    return {outputs, static_cast<int64_t>(layer.input.channels), kernel, kernel};
  }
  return BatchDims(outputs, layer.input);
}

const Dims kStrides = {1, 1};

Dims PaddingOf(const Layer& layer) {
  const auto padding = static_cast<int64_t>((layer.kernel - 1) / 2);
  return {padding, padding};
}

}  // namespace

Desc PlainWeights(const Layer& layer) {
  const Dims dims = WeightDims(layer);
  return Desc(dims, kFloat, dims.size() == 2 ? Tag::oi : Tag::oihw);
}

void PrepareThread() {
  static std::once_flag once;
  std::call_once(once, [] {
    // oneDNN has levels of x86-64 only.
    if (base::DetectedSimd() == base::Simd::kNeon) return;
    switch (base::ActiveSimd()) {
      case base::Simd::kScalar:
        dnnl::set_max_cpu_isa(dnnl::cpu_isa::sse41);
        break;
      case base::Simd::kNeon:
        break;
      case base::Simd::kAvx2:
        dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
        break;
      case base::Simd::kAvx512:
        dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core);
        break;
    }
  });
  omp_set_num_threads(1);
}

OnednnProgram::OnednnProgram(const Architecture& architecture, uint32_t batch, bool training,
                             const dnnl::engine& engine, std::vector<ParameterMemory>& parameters,
                             Arena& arena)
    : context_{engine, {}}, memory_(engine, arena), batch_(batch), training_(training) {
  context_.attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const std::vector<Layer>& layers = architecture.layers();
  std::vector<Trace> traces(layers.size());
  const size_t rest = HasFront(layers) ? 2 : 0;  // first layer that handles the batch as a whole
  dnnl::memory current = rest != 0 ? AddFront(layers, parameters)
                                   : memory_.Input(PlainBatch(batch_, layers.front().input), 0);
  for (size_t i = rest; i < layers.size(); ++i) {
    current = AddForward(layers, i, current, parameters[i], traces[i]);
  }
  scores_ = current;
  if (training_) {
    score_gradients_ = memory_.Place(scores_.get_desc());
    current = score_gradients_;
    for (size_t i = layers.size(); i-- > rest;) {
      current = AddBackward(layers, i, current, parameters[i], traces[i]);
    }
    if (rest != 0) AddFrontBackward(layers, current, parameters);
  }
}

void OnednnProgram::Add(std::vector<Step>& steps, const dnnl::primitive& primitive,
                        const Desc& scratchpad, Arguments arguments) {
  if (scratchpad.get_size() != 0) {
    arguments.emplace(DNNL_ARG_SCRATCHPAD, memory_.Scratch(scratchpad));
  }
  steps.push_back([primitive, arguments = std::move(arguments)](dnnl::stream& stream, float) {
    primitive.execute(stream, arguments);
  });
}

dnnl::memory OnednnProgram::InLayout(std::vector<Step>& steps, const dnnl::memory& memory,
                                     const Desc& desc) {
  if (memory.get_desc() == desc) return memory;
  dnnl::memory copy = memory_.Place(desc);
  const dnnl::reorder::primitive_desc reorder(context_.engine, memory.get_desc(), context_.engine,
                                              desc, context_.attributes);
  Add(steps, dnnl::reorder(reorder), reorder.scratchpad_desc(),
      {{DNNL_ARG_FROM, memory}, {DNNL_ARG_TO, copy}});
  return copy;
}

void OnednnProgram::Forward(dnnl::stream& stream, float* input) {
  memory_.Bind(input);
  for (const Step& step : forward_) step(stream, 0);
}

void OnednnProgram::Backward(dnnl::stream& stream, float learning_rate) {
  for (const Step& step : backward_) step(stream, learning_rate);
}

dnnl::memory OnednnProgram::AddFront(const std::vector<Layer>& layers,
                                     std::vector<ParameterMemory>& parameters) {
  size_t map_offset = 0;     // of the map between the two layers, shared by all slices
  size_t result_offset = 0;  // of the pooled batch
  Desc result;
  for (int64_t first = 0; first < batch_; first += kFrontSlice) {
    const int64_t count = std::min(kFrontSlice, batch_ - first);
    const dnnl::memory source = memory_.Input(PlainBatch(count, layers[0].input),
                                              static_cast<size_t>(first) * layers[0].input.size());
    FrontSlice& slice = front_.emplace_back();
    if (first > 0) slice.convolution.offset = map_offset;
    const dnnl::memory map = AddForward(layers, 0, source, parameters[0], slice.convolution);
    if (first == 0) {
      map_offset = memory_.OffsetOf(map);
      result = Desc(BatchDims(batch_, layers[1].output), kFloat, LayoutOf(map.get_desc()).tag);
      front_result_ = memory_.Place(result);
      result_offset = memory_.OffsetOf(front_result_);
    }
    slice.pool.offset = result_offset + static_cast<size_t>(first) * BytesPerSample(result);
    AddForward(layers, 1, map, parameters[1], slice.pool);
  }
  return front_result_;
}

void OnednnProgram::AddFrontBackward(const std::vector<Layer>& layers, const dnnl::memory& gradient,
                                     const std::vector<ParameterMemory>& parameters) {
  const Desc result = front_result_.get_desc();
  const size_t offset = memory_.OffsetOf(InLayout(backward_, gradient, result));
  int64_t first = 0;
  for (const FrontSlice& slice : front_) {
    const Desc part = slice.pool.result.get_desc();
    const dnnl::memory pooled =
        memory_.Place(part, offset + static_cast<size_t>(first) * BytesPerSample(result));
    const dnnl::memory map = AddBackward(layers, 1, pooled, parameters[1], slice.pool);
    AddBackward(layers, 0, map, parameters[0], slice.convolution);
    first += DimsOf(part)[0];
  }
}

dnnl::memory OnednnProgram::AddForward(const std::vector<Layer>& layers, size_t i,
                                       const dnnl::memory& source, ParameterMemory& parameters,
                                       Trace& trace) {
  const bool last = i + 1 == layers.size();
  switch (layers[i].kind) {
    case LayerKind::kConvolution:
      return AddConvolution(layers[i], source, parameters, trace);
    case LayerKind::kDense:
      return AddDense(layers[i], last, source, parameters, trace);
    case LayerKind::kMaxPool:
      return AddPool(layers[i], !last && IsFusedRelu(layers, i + 1), source, trace);
    case LayerKind::kRelu:
      return IsFusedRelu(layers, i) ? source : AddRelu(source, trace);
    case LayerKind::kNorm:
      return AddNorm(layers[i], source, trace);
  }
  return source;
}

dnnl::memory OnednnProgram::AddPool(const Layer& layer, bool relu, const dnnl::memory& source,
                                    Trace& trace) {
  const MapLayout layout = LayoutOf(source.get_desc());
  trace.source = InLayout(forward_, source, Desc(DimsOf(source.get_desc()), kFloat, layout.tag));
  trace.result =
      memory_.Place(Desc(BatchDims(Batch(source), layer.output), kFloat, layout.tag), trace.offset);
  const PoolShape shape = PoolShapeOf(trace.source.get_desc(), layout);
  trace.winner = memory_.Place(
      Desc({static_cast<int64_t>(shape.results())}, dnnl::memory::data_type::s32, Tag::x));
  forward_.push_back([shape, relu, from = trace.source, to = trace.result, winner = trace.winner](
                         dnnl::stream&, float) {
    MaxPool(shape, relu, Data<float>(from), Data<float>(to), Data<int32_t>(winner));
  });
  return trace.result;
}

dnnl::memory OnednnProgram::AddRelu(const dnnl::memory& source, Trace& trace) {
  const prop_kind kind = training_ ? prop_kind::forward_training : prop_kind::forward_inference;
  const dnnl::eltwise_forward::primitive_desc relu =
      InPlaceDesc(context_, kind, algorithm::eltwise_relu, source.get_desc());
  trace.result = source;  // in place
  Add(forward_, dnnl::eltwise_forward(relu), relu.scratchpad_desc(),
      {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, source}});
  return source;
}

dnnl::memory OnednnProgram::AddNorm(const Layer& layer, const dnnl::memory& source, Trace& trace) {
  const Desc plain = PlainBatch(Batch(source), layer.input);
  trace.source = InLayout(forward_, source, plain);
  trace.result = memory_.Place(plain);  // a ReLU before it needs its own result
  trace.factors = memory_.Place(Desc({Batch(source)}, kFloat, Tag::x));
  forward_.push_back([shape = NormShapeOf(layer, Batch(source)), from = trace.source,
                      to = trace.result, factors = trace.factors](dnnl::stream&, float) {
    LayerNorm(shape, Data<float>(from), Data<float>(to), Data<float>(factors));
  });
  return trace.result;
}

dnnl::memory OnednnProgram::AddConvolution(const Layer& layer, const dnnl::memory& source,
                                           ParameterMemory& parameters, Trace& trace) {
  const prop_kind kind = training_ ? prop_kind::forward_training : prop_kind::forward_inference;
  trace.convolution = ForwardDesc<dnnl::convolution_forward>(
      context_, kind, algorithm::convolution_direct,
      AnyLayout(BatchDims(Batch(source), layer.input)), AnyLayout(WeightDims(layer)),
      BiasDesc(layer), AnyLayout(BatchDims(Batch(source), layer.output)), kStrides,
      PaddingOf(layer), PaddingOf(layer));
  if (!parameters.weights) {
    parameters.weights = dnnl::memory(trace.convolution->weights_desc(), context_.engine);
    parameters.biases = dnnl::memory(BiasDesc(layer), context_.engine);
  }
  trace.source = InLayout(forward_, source, trace.convolution->src_desc());
  trace.result = memory_.Place(trace.convolution->dst_desc(), trace.offset);
  Add(forward_, dnnl::convolution_forward(*trace.convolution), trace.convolution->scratchpad_desc(),
      {{DNNL_ARG_SRC, trace.source},
       {DNNL_ARG_WEIGHTS,
        InLayout(forward_, parameters.weights, trace.convolution->weights_desc())},
       {DNNL_ARG_BIAS, parameters.biases},
       {DNNL_ARG_DST, trace.result}});
  return trace.result;
}

dnnl::memory OnednnProgram::AddDense(const Layer& layer, bool last, const dnnl::memory& source,
                                     ParameterMemory& parameters, Trace& trace) {
  const prop_kind kind = training_ ? prop_kind::forward_training : prop_kind::forward_inference;
  const Dims out = BatchDims(Batch(source), layer.output);
  trace.dense = ForwardDesc<dnnl::inner_product_forward>(
      context_, kind, AnyLayout(BatchDims(Batch(source), layer.input)), PlainWeights(layer),
      BiasDesc(layer), last ? PlainBatch(Batch(source), layer.output) : AnyLayout(out));
  if (!parameters.weights) {
    parameters.weights = dnnl::memory(trace.dense->weights_desc(), context_.engine);
    parameters.biases = dnnl::memory(BiasDesc(layer), context_.engine);
  }
  trace.source = InLayout(forward_, source, trace.dense->src_desc());
  trace.result = memory_.Place(trace.dense->dst_desc(), trace.offset);
  Add(forward_, dnnl::inner_product_forward(*trace.dense), trace.dense->scratchpad_desc(),
      {{DNNL_ARG_SRC, trace.source},
       {DNNL_ARG_WEIGHTS, InLayout(forward_, parameters.weights, trace.dense->weights_desc())},
       {DNNL_ARG_BIAS, parameters.biases},
       {DNNL_ARG_DST, trace.result}});
  return trace.result;
}

dnnl::memory OnednnProgram::AddBackward(const std::vector<Layer>& layers, size_t i,
                                        const dnnl::memory& gradient,
                                        const ParameterMemory& parameters, const Trace& trace) {
  switch (layers[i].kind) {
    case LayerKind::kConvolution:
      return AddConvolutionBackward(layers[i], i == 0, gradient, parameters, trace);
    case LayerKind::kDense:
      return AddDenseBackward(layers[i], i == 0, gradient, parameters, trace);
    case LayerKind::kMaxPool:
      return AddPoolBackward(i > 0 && layers[i - 1].kind == LayerKind::kConvolution, gradient,
                             trace);
    case LayerKind::kRelu:
      return IsFusedRelu(layers, i) ? gradient : AddReluBackward(gradient, trace);
    case LayerKind::kNorm:
      return AddNormBackward(layers[i], gradient, trace);
  }
  return gradient;
}

dnnl::memory OnednnProgram::AddPoolBackward(bool overwrite, const dnnl::memory& gradient,
                                            const Trace& trace) {
  const PoolShape shape = PoolShapeOf(trace.source.get_desc(), LayoutOf(trace.source.get_desc()));
  const dnnl::memory out = overwrite ? trace.source : memory_.Place(trace.source.get_desc());
  backward_.push_back([shape, from = InLayout(backward_, gradient, trace.result.get_desc()),
                       winner = trace.winner, to = out](dnnl::stream&, float) {
    MaxPoolBackward(shape, Data<float>(from), Data<int32_t>(winner), Data<float>(to));
  });
  return out;
}

dnnl::memory OnednnProgram::AddReluBackward(const dnnl::memory& gradient, const Trace& trace) {
  const Desc result = trace.result.get_desc();
  const dnnl::memory in = InLayout(backward_, gradient, result);
  const auto kind = algorithm::eltwise_relu_use_dst_for_bwd;
  const dnnl::eltwise_forward::primitive_desc forward =
      InPlaceDesc(context_, prop_kind::forward_training, kind, result);
  const dnnl::eltwise_backward::primitive_desc relu =
      InPlaceBackwardDesc(context_, forward, kind, result);
  Add(backward_, dnnl::eltwise_backward(relu), relu.scratchpad_desc(),
      {{DNNL_ARG_DST, trace.result}, {DNNL_ARG_DIFF_DST, in}, {DNNL_ARG_DIFF_SRC, in}});
  return in;
}

dnnl::memory OnednnProgram::AddNormBackward(const Layer& layer, const dnnl::memory& gradient,
                                            const Trace& trace) {
  const dnnl::memory in = InLayout(backward_, gradient, trace.result.get_desc());
  backward_.push_back([shape = NormShapeOf(layer, Batch(gradient)), result = trace.result,
                       factors = trace.factors, in](dnnl::stream&, float) {
    LayerNormBackward(shape, Data<float>(result), Data<float>(factors), Data<float>(in));
  });
  return in;
}

dnnl::memory OnednnProgram::AddConvolutionBackward(const Layer& layer, bool first,
                                                   const dnnl::memory& gradient,
                                                   const ParameterMemory& parameters,
                                                   const Trace& trace) {
  const Desc source = AnyLayout(BatchDims(Batch(gradient), layer.input));
  const Desc result = AnyLayout(BatchDims(Batch(gradient), layer.output));
  const Desc weights = AnyLayout(WeightDims(layer));
  dnnl::memory out;
  if (!first) {
    const auto data = BackwardDesc<dnnl::convolution_backward_data>(
        context_, *trace.convolution, algorithm::convolution_direct, source, weights, result,
        kStrides, PaddingOf(layer), PaddingOf(layer));
    out = memory_.Place(data.diff_src_desc());
    Add(backward_, dnnl::convolution_backward_data(data), data.scratchpad_desc(),
        {{DNNL_ARG_DIFF_DST, InLayout(backward_, gradient, data.diff_dst_desc())},
         {DNNL_ARG_WEIGHTS, InLayout(backward_, parameters.weights, data.weights_desc())},
         {DNNL_ARG_DIFF_SRC, out}});
  }
  const auto change = BackwardDesc<dnnl::convolution_backward_weights>(
      context_, *trace.convolution, algorithm::convolution_direct, source, weights, BiasDesc(layer),
      result, kStrides, PaddingOf(layer), PaddingOf(layer));
  const dnnl::memory weight_gradients = memory_.Place(change.diff_weights_desc());
  const dnnl::memory bias_gradients = memory_.Place(BiasDesc(layer));
  Add(backward_, dnnl::convolution_backward_weights(change), change.scratchpad_desc(),
      {{DNNL_ARG_SRC, InLayout(backward_, trace.source, change.src_desc())},
       {DNNL_ARG_DIFF_DST, InLayout(backward_, gradient, change.diff_dst_desc())},
       {DNNL_ARG_DIFF_WEIGHTS, weight_gradients},
       {DNNL_ARG_DIFF_BIAS, bias_gradients}});
  AddUpdate(parameters.weights, weight_gradients);
  AddUpdate(parameters.biases, bias_gradients);
  return out;
}

dnnl::memory OnednnProgram::AddDenseBackward(const Layer& layer, bool first,
                                             const dnnl::memory& gradient,
                                             const ParameterMemory& parameters,
                                             const Trace& trace) {
  const Desc source = AnyLayout(BatchDims(Batch(gradient), layer.input));
  const Desc result = AnyLayout(BatchDims(Batch(gradient), layer.output));
  const Desc weights = PlainWeights(layer);
  dnnl::memory out;
  if (!first) {
    const auto data = BackwardDesc<dnnl::inner_product_backward_data>(context_, *trace.dense,
                                                                      source, weights, result);
    out = memory_.Place(data.diff_src_desc());
    Add(backward_, dnnl::inner_product_backward_data(data), data.scratchpad_desc(),
        {{DNNL_ARG_DIFF_DST, InLayout(backward_, gradient, data.diff_dst_desc())},
         {DNNL_ARG_WEIGHTS, InLayout(backward_, parameters.weights, data.weights_desc())},
         {DNNL_ARG_DIFF_SRC, out}});
  }
  const auto change = BackwardDesc<dnnl::inner_product_backward_weights>(
      context_, *trace.dense, source, weights, BiasDesc(layer), result);
  const dnnl::memory weight_gradients = memory_.Place(change.diff_weights_desc());
  const dnnl::memory bias_gradients = memory_.Place(BiasDesc(layer));
  Add(backward_, dnnl::inner_product_backward_weights(change), change.scratchpad_desc(),
      {{DNNL_ARG_SRC, InLayout(backward_, trace.source, change.src_desc())},
       {DNNL_ARG_DIFF_DST, InLayout(backward_, gradient, change.diff_dst_desc())},
       {DNNL_ARG_DIFF_WEIGHTS, weight_gradients},
       {DNNL_ARG_DIFF_BIAS, bias_gradients}});
  AddUpdate(parameters.weights, weight_gradients);
  AddUpdate(parameters.biases, bias_gradients);
  return out;
}

void OnednnProgram::AddUpdate(const dnnl::memory& values, const dnnl::memory& gradients) {
  const dnnl::memory from = InLayout(backward_, gradients, values.get_desc());
  const size_t count = values.get_desc().get_size() / sizeof(float);
  backward_.push_back([values, from, count](dnnl::stream&, float learning_rate) {
    float* to = Data<float>(values);
    const float* gradient = Data<float>(from);
    for (size_t i = 0; i < count; ++i) to[i] -= learning_rate * gradient[i];
  });
}

}  // namespace tacet::models
