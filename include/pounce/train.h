// Training a classifier from a folder of images: configuration, events, TrainingRun.
//
//   pounce::TrainConfig config;
//   config.data = "photos";
//   pounce::TrainingRun training(config, [](const pounce::Event& event) { ... });
//   pounce::RunEnd result = training.run();
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "pounce/error.h"
#include "pounce/fit.h"

namespace pounce {

enum class OptimizerKind { AdamW, Adam, Sgd };
enum class ScheduleKind { Cosine, Step, Constant };
enum class ClassWeights { None, Balanced };
// Presets of crop scale and flips. None: training images are prepared as for evaluation. Light:
// crops of 0.8 to 1 of the area, mirrored half of the time. Standard: the same with crops of 0.35
// to 1.
enum class Augment { None, Light, Standard };
// Uniform: every image once an epoch. Balanced: every class equally often in an epoch of the same
// length, so an image may come several times or not at all.
enum class SamplerKind { Uniform, Balanced };
// What to do with files that cannot be used: Auto skips, but stops when over 10 % of a class is
// unusable.
enum class BadFilePolicy { Auto, Skip, Stop };

// What convolutions and matrix products compute in, and activations are stored in; weights,
// statistics, the loss and the last layer are fp32 always. Auto: what the device is built for; an
// update that overflows in it is repeated in a wider one.
enum class Precision { Auto, Fp32, Bf16, Fp16 };

// How convolutions are computed. Auto: by whatever is fastest on the device, which for windows of
// 3 x 3 is Winograd's form on a processor. Direct: by the sums that define them.
enum class ConvAlgorithm { Auto, Direct };

// Where images are kept from one epoch to the next. Auto: nowhere at first; in memory from the
// epoch on that follows one in which the steps waited for images. Ram: in this process. Disk: in a
// file of the cache folder, kept for later runs. None of these changes a result. Shrunk: pictures
// are first reduced to a short side of 1.5 * image_size, rounded up; the model file records it, and
// what is kept is the reduced pictures, as Disk keeps them.
enum class CacheMode { Auto, None, Ram, Disk, Shrunk };
// Bytes, or percent of the memory or disk a cache lies in. Both 0: chosen from what is free.
struct CacheLimit {
  int64_t bytes = 0;
  double percent = 0;
  bool operator==(const CacheLimit&) const = default;
};

// Every value a user can set. An empty optional means: chosen from the data (never from the
// machine) or by a preset; RunBegin::config has the values that were chosen.
struct TrainConfig {
  std::string data;                  // folder of images
  std::string out;                   // run folder; empty: runs/<folder>-N; must not exist
  std::optional<std::string> model;  // cnn, resnet18, resnet34, resnet50, resnet101
  // Start weights: a safetensors file in torchvision's names, a Pounce model or a run folder;
  // empty: random ones. The optimizer's and the epochs' defaults depend on it.
  std::string init;
  std::string init_checksum;  // of that file; another file is refused. Empty: the run fills it in
  std::optional<int> image_size;  // pixels, square
  std::optional<int> epochs;
  std::optional<int> batch_size;
  OptimizerKind optimizer = OptimizerKind::AdamW;
  std::optional<double> learning_rate;           // at the peak; never scaled when given
  std::optional<double> weight_decay;            // on weights, not on norms and biases
  double momentum = 0.9;                         // sgd
  bool nesterov = false;                         // sgd
  ScheduleKind schedule = ScheduleKind::Cosine;  // after the warm-up: to 0, in steps, or constant
  double warmup_epochs = 1;                      // linear
  double step_epochs = 30;                       // schedule step: epochs between two steps
  double step_gamma = 0.1;                       // schedule step: factor of a step
  ClassWeights class_weights = ClassWeights::None;  // balanced: rare classes weigh more
  double ema_decay = 0;  // of averaged weights, which then are validated and saved
  double clip_grad = 0;  // largest norm of the gradient; 0: no limit
  int patience = 0;      // epochs without a better model before stopping; 0: all
  SamplerKind sampler = SamplerKind::Uniform;
  Augment augment = Augment::Standard;
  // Where given, in the place of what `augment` says.
  std::optional<double> crop_scale_min;  // area of a random crop, share of the image; stays empty
  std::optional<double> crop_scale_max;  // where nothing is cropped at random
  std::optional<double> hflip;           // probability of a mirrored image
  std::optional<double> vflip;
  double label_smoothing = 0;
  double color_jitter = 0;      // brightness, contrast, saturation by 1 - x to 1 + x
  double random_erasing = 0;    // probability that a rectangle of a training image is erased
  Fit fit = Fit::Crop;          // how pictures that are not square become square
  double resize_ratio = 0.875;  // evaluation: crop size / size of the resized short side
  // Classes of images that no folders name: "names" (cat.0.jpg), "FILE.csv" or
  // "FILE.csv:file,label" (its two columns); empty: folders, or metadata.csv among the images.
  std::string labels;
  bool exif = true;           // the orientation of EXIF is applied
  double val_fraction = 0.2;  // held back where the folder has no validation split
  BadFilePolicy on_bad = BadFilePolicy::Auto;
  CacheMode cache = CacheMode::Auto;
  CacheLimit cache_limit;
  uint64_t seed = 0;
  int workers = 0;              // decode threads; 0: as many as prove useful
  int threads = 0;              // compute threads; 0: as many as there are cores
  std::string device = "auto";  // auto, cpu
  Precision precision = Precision::Auto;
  ConvAlgorithm conv_algorithm = ConvAlgorithm::Auto;
};

// A file that was left out, as skipped.tsv lists it.
struct SkippedFileInfo {
  std::string path;  // relative to the data folder
  std::string kind;  // damaged, unreadable, unsupported
  std::string reason;
};

// Before the first step; everything that was found and chosen.
struct RunBegin {
  std::string run_folder;  // empty in a dry run
  std::string device;      // "cpu, 8 threads"
  std::string precision;   // "fp32", "bf16", "fp16"
  std::string model;
  int64_t parameters = 0;
  std::vector<std::string> classes;   // in label order
  std::vector<int64_t> class_images;  // usable images of each, all splits
  int64_t train_images = 0;
  int64_t val_images = 0;
  int64_t test_images = 0;
  bool val_is_split_off = false;  // by rule, because there is no validation folder
  int64_t skipped = 0;
  bool is_imbalanced = false;  // class sizes of the training images differ by more than 10:1
  int64_t updates = 0;         // optimizer updates of the whole run
  int64_t memory_bytes = 0;    // planned: weights, optimizer, activations, staging
  TrainConfig config;          // complete: every optional that applies has its value
};

// After RunBegin where --init gave start weights: what became of every entry of the network and of
// the file. Counters (num_batches_tracked) start at zero and are not listed.
struct WeightsLoaded {
  std::string path;
  std::string prefix;  // stripped from the file's names, such as "module."; empty: none
  std::string head;    // "head replaced (1,000 classes in the file, 2 here)"
  std::vector<std::string> loaded;       // entries of the network, the head's where it is kept
  std::vector<std::string> replaced;     // the head's, which start fresh
  std::vector<std::string> missing;      // start fresh
  std::vector<std::string> wrong_shape;  // start fresh; "bn1.bias is f32[32], expected f32[64]"
  std::vector<std::string> unknown;      // of the file; not used
};

// While the folder is scanned, a few times a second, for progress displays.
struct ScanProgress {
  int64_t files = 0;  // found so far; with a total: those whose header is read
  int64_t total = 0;  // of all folders; 0 while they are being listed
};

// After every update, for progress displays; cheap and frequent.
struct StepProgress {
  int epoch = 0;  // from 1
  int epochs = 0;
  bool validating = false;
  int64_t images = 0;  // of this epoch (or validation) so far
  int64_t images_total = 0;
  double loss = 0;               // mean so far
  double accuracy = 0;           // so far
  double images_per_second = 0;  // of this epoch so far
  double seconds_left = 0;       // of the whole run; 0: not yet known
};

struct EpochEnd {
  int epoch = 0;  // from 1
  int epochs = 0;
  int64_t update = 0;  // applied so far
  double train_loss = 0;
  double train_accuracy = 0;
  std::optional<double> val_loss;  // absent without a validation split
  std::optional<double> val_accuracy;
  std::optional<double> val_balanced_accuracy;  // mean over the classes
  double learning_rate = 0;                     // of the last update
  double seconds = 0;                           // of the epoch with its validation
  int64_t images = 0;
  double images_per_second = 0;   // training alone
  double data_wait_fraction = 0;  // share of the time the step waited for images
  // Where that is more than a twentieth: "read", "decode" or "transform", whichever took the decode
  // threads longest; else "".
  std::string data_limit;
  int64_t skipped = 0;          // files left out so far
  int64_t skipped_updates = 0;  // of the run, for their gradients overflowed; fp16 alone
  double loss_scale = 1;        // of fp16
  int64_t planned_bytes = 0;
  int64_t allocated_bytes = 0;
  int64_t peak_bytes = 0;  // resident, of the process
  int64_t h2d_bytes = 0;   // moved to and from the device in this epoch
  int64_t d2h_bytes = 0;
  double seconds_left = 0;
  bool is_best = false;
};

struct CheckpointSaved {
  std::string path;
};

struct WarningIssued {
  std::string message;
};

// Good to know; not a problem.
struct NoteIssued {
  std::string message;
};

// How one of the run's programs was built: for those who ask what happens inside.
struct ProgramBuilt {
  std::string name;  // "train/64", "evaluate/64": what it does, and for how many images
  int64_t planned_bytes = 0;
  std::string report;  // lines: passes and times, implementations and refusals, the memory plan
};

struct RunEnd {
  bool interrupted = false;
  int best_epoch = 0;  // 0: no epoch was completed
  std::optional<double> best_val_accuracy;
  std::optional<double> test_accuracy;  // once, with the best model, where there is a test split
  int64_t train_images = 0;             // used in the last epoch
  int64_t skipped = 0;                  // rows of skipped.tsv
  std::string model;                    // path of the best model file; empty: none was saved
  std::string run_folder;
  double seconds = 0;
  double start_seconds = 0;  // process start to the first step launched
};

using Event = std::variant<ScanProgress, RunBegin, WeightsLoaded, StepProgress, EpochEnd,
                           CheckpointSaved, WarningIssued, NoteIssued, ProgramBuilt, RunEnd>;
// Called from the thread that runs the training. An exception thrown by it ends the run.
using EventSink = std::function<void(const Event&)>;

// One training run. Holds no global state: several may live in one process.
class POUNCE_API TrainingRun {
 public:
  // Checks the configuration alone; touches neither data nor device. Throws Config.
  explicit TrainingRun(TrainConfig config, EventSink sink = {});
  ~TrainingRun();
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  // Scans, plans, trains. A requested stop ends the run cleanly after the current step: the model
  // so far is kept and `interrupted` is set. Throws Error; files under final names are complete in
  // every case. May be called once.
  RunEnd run(std::stop_token stop = {});

  // Scans, plans, allocates and reports all that run() would before its first step; trains nothing
  // and writes nothing. Throws what run() would. May be called once, instead of run().
  void dry_run(std::stop_token stop = {});

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pounce
