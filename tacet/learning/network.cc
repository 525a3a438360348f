#include "tacet/learning/network.h"

#include <exception>
#include <utility>
#include <vector>

#include <dnnl.hpp>

#include "tacet/base/status.h"
#include "tacet/learning/onednn_program.h"
#include "tacet/learning/softmax.h"

namespace tacet::learning {
namespace {

// Calls `body`, which may throw what oneDNN throws, on a thread made ready for it.
template <typename Body>
absl::Status Guard(const Body& body) {
  try {
    PrepareThread();
    return body();
  } catch (const std::exception& error) {
    return absl::InternalError(fmt::format("oneDNN: {}", error.what()));
  }
}

}  // namespace

class Network::Impl {
 public:
  Impl(const Architecture& architecture, uint32_t max_batch, Mode mode)
      : architecture_(architecture),
        training_(mode == Mode::kTraining),
        engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        parameters_(architecture.layers().size()),
        programs_(max_batch + size_t{1}),
        input_(architecture.input_size() * max_batch) {
    Program(max_batch);  // the largest batch chooses the layouts
    CreateReorders();
  }

  absl::Status Load(std::span<const float> values) {
    if (values.size() != architecture_.dimension()) {
      return base::InvalidArgument("model has {} parameters, expected {}", values.size(),
                                   architecture_.dimension());
    }
    return Guard([&] {
      // oneDNN reads only through this handle.
      Copy(const_cast<float*>(values.data()), Direction::kIn);
      return absl::OkStatus();
    });
  }

  absl::Status Store(std::span<float> values) {
    if (values.size() != architecture_.dimension()) {
      return base::InvalidArgument("model has {} parameters, expected {}", values.size(),
                                   architecture_.dimension());
    }
    return Guard([&] {
      Copy(values.data(), Direction::kOut);
      return absl::OkStatus();
    });
  }

  std::span<float> input() { return input_; }

  absl::StatusOr<std::span<const float>> Forward(uint32_t batch) {
    TACET_RETURN_IF_ERROR(CheckBatch(batch));
    std::span<const float> scores;
    TACET_RETURN_IF_ERROR(Guard([&] {
      OnednnProgram& program = Program(batch);
      program.Forward(stream_, input_.data());
      stream_.wait();
      scores = {program.scores(), batch * architecture_.classes()};
      return absl::OkStatus();
    }));
    return scores;
  }

  absl::Status Step(std::span<const uint32_t> labels, float learning_rate) {
    if (!training_) return base::FailedPrecondition("this network was made for inference only");
    TACET_RETURN_IF_ERROR(CheckBatch(labels.size()));
    return Guard([&] {
      OnednnProgram& program = Program(static_cast<uint32_t>(labels.size()));
      program.Forward(stream_, input_.data());
      stream_.wait();
      const size_t classes = architecture_.classes();
      const double weight = 1.0 / static_cast<double>(labels.size());
      for (size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] >= classes) {
          return base::InvalidArgument("label {} where the model has {} classes", labels[i],
                                       classes);
        }
        CrossEntropyGradient({program.scores() + i * classes, classes}, labels[i], weight,
                             {program.score_gradients() + i * classes, classes});
      }
      program.Backward(stream_, learning_rate);
      stream_.wait();
      return absl::OkStatus();
    });
  }

 private:
  enum class Direction { kIn, kOut };

  // Between a layer's parameters in the flat vector and those in oneDNN's layout.
  struct Transfer {
    uint64_t first = 0;  // in the flat vector
    dnnl::memory flat;
    dnnl::memory inside;
    dnnl::reorder in;
    dnnl::reorder out;
  };

  absl::Status CheckBatch(size_t batch) const {
    if (batch >= 1 && batch < programs_.size()) return absl::OkStatus();
    return base::InvalidArgument("a batch of {} samples, expected 1 to {}", batch,
                                 programs_.size() - 1);
  }

  OnednnProgram& Program(uint32_t batch) {
    std::unique_ptr<OnednnProgram>& program = programs_[batch];
    if (program == nullptr) {
      program = std::make_unique<OnednnProgram>(architecture_, batch, training_, engine_,
                                                parameters_, arena_);
    }
    return *program;
  }

  void CreateReorders() {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Layer& layer = architecture_.layers()[i];
      if (layer.weights == 0) continue;
      AddTransfer(layer.first_parameter, PlainWeights(layer), parameters_[i].weights);
      AddTransfer(layer.first_parameter + layer.weights, parameters_[i].biases.get_desc(),
                  parameters_[i].biases);
    }
  }

  void AddTransfer(uint64_t first, const dnnl::memory::desc& plain, const dnnl::memory& inside) {
    const dnnl::memory flat(plain, engine_, DNNL_MEMORY_NONE);
    const dnnl::memory::desc desc = inside.get_desc();
    transfers_.push_back(
        {first, flat, inside,
         dnnl::reorder(dnnl::reorder::primitive_desc(engine_, plain, engine_, desc)),
         dnnl::reorder(dnnl::reorder::primitive_desc(engine_, desc, engine_, plain))});
  }

  void Copy(float* values, Direction direction) {
    for (Transfer& transfer : transfers_) {
      transfer.flat.set_data_handle(values + transfer.first);
      if (direction == Direction::kIn) {
        transfer.in.execute(stream_, transfer.flat, transfer.inside);
      } else {
        transfer.out.execute(stream_, transfer.inside, transfer.flat);
      }
    }
    stream_.wait();
  }

  const Architecture architecture_;
  const bool training_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  Arena arena_;
  std::vector<ParameterMemory> parameters_;
  std::vector<std::unique_ptr<OnednnProgram>> programs_;  // by batch size
  std::vector<Transfer> transfers_;
  std::vector<float> input_;
};

Network::Network(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Network::~Network() = default;

absl::StatusOr<std::unique_ptr<Network>> Network::Create(const Architecture& architecture,
                                                         uint32_t max_batch, Mode mode) {
  if (max_batch < 1) return base::InvalidArgument("a network needs batches of at least 1");
  std::unique_ptr<Network> network;
  TACET_RETURN_IF_ERROR(Guard([&] {
    network.reset(new Network(std::make_unique<Impl>(architecture, max_batch, mode)));
    return absl::OkStatus();
  }));
  return network;
}

absl::Status Network::Load(std::span<const float> parameters) { return impl_->Load(parameters); }
absl::Status Network::Store(std::span<float> parameters) { return impl_->Store(parameters); }
std::span<float> Network::input() { return impl_->input(); }
absl::StatusOr<std::span<const float>> Network::Forward(uint32_t batch) {
  return impl_->Forward(batch);
}
absl::Status Network::Step(std::span<const uint32_t> labels, float learning_rate) {
  return impl_->Step(labels, learning_rate);
}

}  // namespace tacet::learning
