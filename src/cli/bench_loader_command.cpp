#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/json_events.h"

namespace pounce::cli {
namespace {

std::string verified_line(const LoaderVerification& check) {
  return fmt::format(
      "verified: {} images come out the same from one decode thread, from three and one after the "
      "other, {} of them as by decoding all of the picture ({:.1f} s)",
      group_digits(check.images), group_digits(check.decoded), check.seconds);
}

std::string rate_lines(const char* name, const LoaderRate& rate) {
  std::string text = fmt::format("{:<9} {:.0f} img/s  ({:.0f} a second of CPU time)\n", name,
                                 rate.images_per_second, rate.images_per_cpu_second);
  text += fmt::format("p10, p90  {:.0f}, {:.0f} img/s  ({} images in {:.1f} s)\n", rate.p10,
                      rate.p90, group_digits(rate.images), rate.seconds);
  return text +
         fmt::format("an image  read {:.3f} ms, decode {:.3f}, transform {:.3f}; waited {:.3f} ms",
                     rate.read_ms, rate.decode_ms, rate.transform_ms, rate.wait_ms);
}

std::string report(const BenchLoaderConfig& config, const BenchLoaderResult& result) {
  std::string text = fmt::format("{}, {} px, crops of {:g} to {:g} of the area, batch {}, {}\n",
                                 count_of(result.images, "image", "images"), config.image_size,
                                 config.crop_scale_min, config.crop_scale_max, config.batch_size,
                                 count_of(result.threads, "thread", "threads"));
  if (!result.cache_note.empty()) text += result.cache_note + '\n';
  text += rate_lines(config.cache == CacheMode::None ? "median" : "first", result.files);
  if (result.cached) text += '\n' + rate_lines("cached", *result.cached);
  if (result.skipped > 0) {
    text += fmt::format("\nskipped   {}", count_of(result.skipped, "file", "files"));
  }
  return text;
}

}  // namespace

int run_bench_loader(Session& session) {
  const Settings& settings = session.settings;
  std::function<void(const LoaderVerification&)> on_verified;
  if (!settings.output.quiet && !settings.output.json) {
    on_verified = [&](const LoaderVerification& check) {
      session.output.message(verified_line(check));
    };
  }
  BenchLoaderResult result = bench_loader(settings.bench_loader, on_verified, session.stop.token());
  session.output.result(settings.output.json ? bench_loader_json(settings.bench_loader, result)
                                             : report(settings.bench_loader, result));
  return 0;
}

}  // namespace pounce::cli
