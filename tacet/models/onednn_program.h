// An architecture as oneDNN primitives for one batch size.
#ifndef TACET_MODELS_ONEDNN_PROGRAM_H_
#define TACET_MODELS_ONEDNN_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <dnnl.hpp>

#include "tacet/models/architecture.h"
#include "tacet/models/onednn_memory.h"
#include "tacet/models/onednn_versions.h"

namespace tacet::models {

// Weights and biases of one layer in the layout that its forward primitive chose.
struct ParameterMemory {
  dnnl::memory weights;
  dnnl::memory biases;
};

// Weights of a layer in the order of the flat vector of parameters (see Layer).
dnnl::memory::desc PlainWeights(const Layer& layer);

// Runs libraries that use OpenMP with one thread from the calling thread on, and holds oneDNN to
// base::ActiveSimd(). Cheap; called before every use of oneDNN.
void PrepareThread();

class OnednnProgram {
 public:
  // `parameters` has one entry a layer. Where it is empty the program chooses the layouts and
  // allocates; otherwise it keeps the ones that are there. Throws dnnl::error.
  OnednnProgram(const Architecture& architecture, uint32_t batch, bool training,
                const dnnl::engine& engine, std::vector<ParameterMemory>& parameters, Arena& arena);

  // Goes from `input` (batch rows, any address) to scores() (batch rows).
  void Forward(dnnl::stream& stream, float* input);
  float* scores() const { return static_cast<float*>(scores_.get_data_handle()); }

  // Goes from score_gradients(), which the caller fills after Forward, to new parameters.
  float* score_gradients() const { return static_cast<float*>(score_gradients_.get_data_handle()); }
  void Backward(dnnl::stream& stream, float learning_rate);

 private:
  using Arguments = std::unordered_map<int, dnnl::memory>;

  using Step = std::function<void(dnnl::stream& stream, float learning_rate)>;
  // Data of a layer's forward pass that its backward pass needs.
  struct Trace {
    std::optional<size_t> offset;  // of `result` in the arena; a new place when empty
    dnnl::memory source;
    dnnl::memory result;
    dnnl::memory winner;   // of a max pool
    dnnl::memory factors;  // of a norm
    std::optional<dnnl::convolution_forward::primitive_desc> convolution;
    std::optional<dnnl::inner_product_forward::primitive_desc> dense;
  };

  void Add(std::vector<Step>& steps, const dnnl::primitive& primitive,
           const dnnl::memory::desc& scratchpad, Arguments arguments);
  // `memory` in the layout `desc`: itself, or a copy that `steps` makes.
  dnnl::memory InLayout(std::vector<Step>& steps, const dnnl::memory& memory,
                        const dnnl::memory::desc& desc);

  // A convolution and a max pool (with its ReLU) at the beginning of a network, a few samples at a
  // time: the map between them, the largest by far, then never leaves the cache.
  dnnl::memory AddFront(const std::vector<Layer>& layers, std::vector<ParameterMemory>& parameters);
  void AddFrontBackward(const std::vector<Layer>& layers, const dnnl::memory& gradient,
                        const std::vector<ParameterMemory>& parameters);

  // Layer `i` of `layers`; a ReLU behind a max pool is done by the pool.
  dnnl::memory AddForward(const std::vector<Layer>& layers, size_t i, const dnnl::memory& source,
                          ParameterMemory& parameters, Trace& trace);
  dnnl::memory AddConvolution(const Layer& layer, const dnnl::memory& source,
                              ParameterMemory& parameters, Trace& trace);
  dnnl::memory AddDense(const Layer& layer, bool last, const dnnl::memory& source,
                        ParameterMemory& parameters, Trace& trace);
  dnnl::memory AddPool(const Layer& layer, bool relu, const dnnl::memory& source, Trace& trace);
  dnnl::memory AddRelu(const dnnl::memory& source, Trace& trace);
  dnnl::memory AddNorm(const Layer& layer, const dnnl::memory& source, Trace& trace);
  // The gradient of the layer's input; empty for the first layer.
  dnnl::memory AddBackward(const std::vector<Layer>& layers, size_t i, const dnnl::memory& gradient,
                           const ParameterMemory& parameters, const Trace& trace);
  dnnl::memory AddConvolutionBackward(const Layer& layer, bool first, const dnnl::memory& gradient,
                                      const ParameterMemory& parameters, const Trace& trace);
  dnnl::memory AddDenseBackward(const Layer& layer, bool first, const dnnl::memory& gradient,
                                const ParameterMemory& parameters, const Trace& trace);
  // The gradient takes the place of the pool's source if `overwrite`: a convolution, unlike a ReLU,
  // does not need its result for its own gradient.
  dnnl::memory AddPoolBackward(bool overwrite, const dnnl::memory& gradient, const Trace& trace);
  dnnl::memory AddReluBackward(const dnnl::memory& gradient, const Trace& trace);
  dnnl::memory AddNormBackward(const Layer& layer, const dnnl::memory& gradient,
                               const Trace& trace);
  void AddUpdate(const dnnl::memory& values, const dnnl::memory& gradients);

  OnednnContext context_;
  ProgramMemory memory_;
  const int64_t batch_;
  const bool training_;
  dnnl::memory scores_;
  dnnl::memory score_gradients_;
  std::vector<Step> forward_;
  std::vector<Step> backward_;
  struct FrontSlice {
    Trace convolution;
    Trace pool;
  };
  std::vector<FrontSlice> front_;
  dnnl::memory front_result_;
};

}  // namespace tacet::models

#endif  // TACET_MODELS_ONEDNN_PROGRAM_H_
