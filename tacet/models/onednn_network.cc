#include "tacet/models/onednn_network.h"

#include <exception>
#include <vector>

#include "absl/status/status.h"
#include <dnnl.hpp>

#include "tacet/base/status.h"
#include "tacet/models/onednn_program.h"

namespace tacet::models {
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

class OnednnNetwork final : public NetworkForm {
 public:
  OnednnNetwork(const Architecture& architecture, uint32_t max_batch, bool training)
      : architecture_(architecture),
        training_(training),
        engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        parameters_(architecture.layers().size()),
        programs_(max_batch + size_t{1}),
        input_(architecture.input_size() * max_batch) {
    Program(max_batch);  // the largest batch chooses the layouts
    CreateReorders();
  }

  absl::Status Load(std::span<const float> values) override {
    return Guard([&] {
      // oneDNN reads only through this handle.
      Copy(const_cast<float*>(values.data()), Direction::kIn);
      return absl::OkStatus();
    });
  }

  absl::Status Store(std::span<float> values) override {
    return Guard([&] {
      Copy(values.data(), Direction::kOut);
      return absl::OkStatus();
    });
  }

  std::span<float> input() override { return input_; }

  absl::Status Forward(uint32_t batch, std::span<const float>& scores) override {
    return Guard([&] {
      OnednnProgram& program = Program(batch);
      program.Forward(stream_, input_.data());
      stream_.wait();
      scores = {program.scores(), batch * architecture_.classes()};
      return absl::OkStatus();
    });
  }

  std::span<float> score_gradients(uint32_t batch) override {
    return {Program(batch).score_gradients(), batch * architecture_.classes()};
  }

  absl::Status Backward(uint32_t batch, float learning_rate) override {
    return Guard([&] {
      Program(batch).Backward(stream_, learning_rate);
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

}  // namespace

absl::StatusOr<std::unique_ptr<NetworkForm>> NewOnednnNetwork(const Architecture& architecture,
                                                              uint32_t max_batch,
                                                              Network::Mode mode) {
  std::unique_ptr<NetworkForm> network;
  TACET_RETURN_IF_ERROR(Guard([&] {
    network =
        std::make_unique<OnednnNetwork>(architecture, max_batch, mode == Network::Mode::kTraining);
    return absl::OkStatus();
  }));
  return network;
}

}  // namespace tacet::models
