// The same file means the same agreement in `tacet simulate` and `tacet federation init`.
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "apps/tacet/simulate/configured_learner.h"
#include "tacet/agreement/initial_model.h"
#include "tacet/agreement/manifest.h"
#include "tacet/agreement/manifest_bytes.h"
#include "tacet/config/agreed_query.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/run_config.h"
#include "tacet/coordinator/federation_setup.h"
#include "tacet/run/configured_simulation.h"
#include "tacet/run/query_run.h"
#include "tacet/simulation/local_channel.h"
#include "tacet/simulation/simulation.h"
#include "tacet/statistics/query_learner.h"
#include "tacet/training/learner.h"

namespace tacet::app::federation {
namespace {

using agreement::ManifestSpec;

absl::StatusOr<ManifestSpec> Simulated(const config::RunConfig& config) {
  auto spec = run::SimulationSpecOf(config);
  auto learner_spec = simulate::LearnerSpecOf(config);
  auto dataset = config::LoadRunData(config);
  if (!spec.ok() || !learner_spec.ok() || !dataset.ok()) return spec.status();
  const auto learner = training::NewLearner(*learner_spec, *std::move(dataset));
  if (!learner.ok()) return learner.status();
  simulation::LocalChannel channel;
  const auto simulation = simulation::Simulation::Create(*std::move(spec), **learner, channel);
  if (!simulation.ok()) return simulation.status();
  return (*simulation)->manifest().spec();
}

// With the members, the start and the text of `simulated`, which the file does not state.
absl::StatusOr<ManifestSpec> Initialised(config::RunConfig config, const ManifestSpec& simulated) {
  config::FixDraw(config, simulated.sampling.clients);
  const agreement::InitialModel model{.parameters = std::vector<float>(simulated.dimension)};
  auto spec = coordinator::AgreementOf(config::AgreedToml(config), model);
  if (!spec.ok()) return spec.status();
  spec->sampling.clients = simulated.sampling.clients;
  spec->initial_model = simulated.initial_model;
  spec->members = simulated.members;
  spec->annex = simulated.annex;
  const auto manifest = agreement::Manifest::Create(*std::move(spec));
  if (!manifest.ok()) return manifest.status();
  return manifest->spec();
}

TEST(OneAgreementTest, SimulateAndInitAgreeInEveryTerm) {
  int same = 0;
  for (const int members : {2, 3, 5, 8}) {
    for (const std::string_view keys :
         {"", "cohort = 2\n", "cohort = 4\n", "cohort = 5\n", "cohort = 4\nmin_participants = 3\n",
          "cohort = 4\nsampling = \"fixed-size\"\n", "cohort = 6\nsampling = \"poisson\"\n",
          "cohort = 4\ndummy_uploads = true\n", "cohort = 4\nspare_attempts = 0\n",
          "cohort = 4\n[privacy]\ncolluders = 1\nnoise_multiplier = 8\n",
          "cohort = 4\n[privacy]\nnoise_stddev = 3.3\nclip_norm = 0.7\n",
          "cohort = 3\n[privacy]\ntarget_epsilon = 8\n",
          "[privacy]\nunit = \"record\"\nrecord_rate = 0.5\nexpected_batch = 20\n"
          "coordinate_bound = 9\nnoise_multiplier = 8\nscale = 1e-3\n"}) {
      std::string file =
          "[data]\nclasses = 10\nhandwriting_classes = 10\nhandwriting_min_samples = 4\n"
          "handwriting_max_samples = 6\n[model]\nname = \"logistic\"\ninput_shape = [28, 28]\n"
          "[federation]\nrounds = 3\n" +
          std::string(keys);
      if (keys.find("[privacy]") == keys.npos) file += "[privacy]\nnoise_multiplier = 8\n";
      const std::string path = ::testing::TempDir() + "/terms.toml";
      std::ofstream(path) << file;
      const auto config = config::LoadRunConfig(path);
      ASSERT_TRUE(config.ok()) << config.status();
      config::RunConfig simulation = *config;
      simulation.data.handwriting_writers = members;
      const auto simulated = Simulated(simulation);
      if (!simulated.ok()) continue;  // more in a cohort than members
      const auto initialised = Initialised(*config, *simulated);
      ASSERT_TRUE(initialised.ok()) << initialised.status() << members << file;
      EXPECT_EQ(agreement::AgreementBytes(*simulated), agreement::AgreementBytes(*initialised))
          << members << "\n"
          << file;
      EXPECT_EQ(simulated->sampling, initialised->sampling) << members << "\n" << file;
      ++same;
    }
  }
  EXPECT_GT(same, 30);
}

// No key of a configuration, through which the terms go, holds the law of the noise. A federation
// that lost it would agree on Gaussian noise, and every member would refuse.
TEST(OneAgreementTest, AQueryKeepsTheLawOfItsNoise) {
  for (const auto& [key, law] : {std::pair("", dp::NoiseLaw::kDiscreteLaplace),
                                 {"noise_law = 'discrete-laplace'", dp::NoiseLaw::kDiscreteLaplace},
                                 {"noise_law = 'gaussian'", dp::NoiseLaw::kGaussian}}) {
    const auto loaded = config::ParseQuery(
        fmt::format("[privacy]\ntarget_epsilon = 4\nmax_units = 200\n{}\n[[question]]\nkind = "
                    "'count'\nwhere = ['age >= 40']\n",
                    key),
        "query.toml");
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const auto config = run::AgreedQueryConfig(*loaded, 4);
    ASSERT_TRUE(config.ok()) << config.status();
    auto spec =
        coordinator::AgreementOf(config::AgreedToml(*config),
                                 {.parameters = std::vector<float>(loaded->query->dimension())});
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(spec->mechanism.noise_law, law);
    spec->sampling.clients = spec->sampling.cohort = 4;
    spec->members.resize(4);
    const auto manifest = agreement::Manifest::Create(*std::move(spec));
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    EXPECT_TRUE(tacet::statistics::CheckQueryTerms(*loaded->query, manifest->spec()).ok());
  }
}

}  // namespace
}  // namespace tacet::app::federation
