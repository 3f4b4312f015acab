#include "delivery/descriptor_vfs.h"

#include <sqlite3.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

namespace ioc_exporter::delivery {
namespace {

// What SQLite takes for an open file; it gives the memory.
struct File {
  sqlite3_file base;
  int fd;
  bool is_log;
};

int fd_of(sqlite3_file* file) {
  return reinterpret_cast<File*>(file)->fd;
}

int close_file(sqlite3_file*) {
  return SQLITE_OK;  // the descriptor is not SQLite's
}

int read_file(sqlite3_file* file, void* to, int size, sqlite3_int64 at) {
  auto* bytes = static_cast<char*>(to);
  int done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(fd_of(file), bytes + done, static_cast<std::size_t>(size - done), at + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SQLITE_IOERR_READ;
    if (got == 0) break;
    done += static_cast<int>(got);
  }
  if (done == size) return SQLITE_OK;
  std::memset(bytes + done, 0, static_cast<std::size_t>(size - done));
  return SQLITE_IOERR_SHORT_READ;
}

// Not pwrite(2), which the exporter has no other use for, and no right to: one thread has the file.
int write_file(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
  if (::lseek(fd_of(file), at, SEEK_SET) != at) return SQLITE_IOERR_SEEK;
  const auto* bytes = static_cast<const char*>(from);
  for (int done = 0; done < size;) {
    const ssize_t more = ::write(fd_of(file), bytes + done, static_cast<std::size_t>(size - done));
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0)
      return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? SQLITE_FULL
                                                                  : SQLITE_IOERR_WRITE;
    done += static_cast<int>(more);
  }
  return SQLITE_OK;
}

// Of the log nothing stays but some room, so that something can be removed while the disk is full.
int empty_log(int fd) {
  constexpr std::size_t kRoom = 512u << 10;
  static constexpr std::array<char, 4096> kZeros{};
  if (::lseek(fd, 0, SEEK_SET) != 0) return SQLITE_IOERR_SEEK;
  std::size_t done = 0;
  while (done < kRoom) {
    const ssize_t more = ::write(fd, kZeros.data(), kZeros.size());
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    done += static_cast<std::size_t>(more);
  }
  return ::ftruncate(fd, static_cast<off_t>(done)) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  if (size == 0 && reinterpret_cast<File*>(file)->is_log) return empty_log(fd_of(file));
  return ::ftruncate(fd_of(file), size) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

int sync_file(sqlite3_file* file, int) {
  return ::fdatasync(fd_of(file)) == 0 ? SQLITE_OK : SQLITE_IOERR_FSYNC;
}

int size_of_file(sqlite3_file* file, sqlite3_int64* size) {
  struct stat status {};
  if (::fstat(fd_of(file), &status) != 0) return SQLITE_IOERR_FSTAT;
  *size = status.st_size;
  return SQLITE_OK;
}

int lock_file(sqlite3_file*, int) {
  return SQLITE_OK;
}

int check_lock(sqlite3_file*, int* is_locked) {
  *is_locked = 0;
  return SQLITE_OK;
}

int control_file(sqlite3_file*, int, void*) {
  return SQLITE_NOTFOUND;
}

int sector_size(sqlite3_file*) {
  return 4096;
}

int characteristics(sqlite3_file*) {
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

constexpr sqlite3_io_methods methods_of_files() {
  sqlite3_io_methods methods{};
  methods.iVersion = 1;  // no shared memory, which one connection does not need
  methods.xClose = close_file;
  methods.xRead = read_file;
  methods.xWrite = write_file;
  methods.xTruncate = truncate_file;
  methods.xSync = sync_file;
  methods.xFileSize = size_of_file;
  methods.xLock = lock_file;
  methods.xUnlock = lock_file;
  methods.xCheckReservedLock = check_lock;
  methods.xFileControl = control_file;
  methods.xSectorSize = sector_size;
  methods.xDeviceCharacteristics = characteristics;
  return methods;
}
constexpr sqlite3_io_methods kMethods = methods_of_files();

const DatabaseFiles& files_of(sqlite3_vfs* vfs) {
  return *static_cast<const DatabaseFiles*>(vfs->pAppData);
}

bool is_log(const char* path) {
  return std::string_view(path).ends_with("-wal");
}

// No other files: rollback journals and what is temporary stay in memory (Database's pragmas).
int open_file(sqlite3_vfs* vfs, const char*, sqlite3_file* file, int flags, int* given) {
  file->pMethods = nullptr;
  const bool log = (flags & SQLITE_OPEN_WAL) != 0;
  if (!log && (flags & SQLITE_OPEN_MAIN_DB) == 0) return SQLITE_CANTOPEN;
  auto* const opened = reinterpret_cast<File*>(file);
  opened->fd = log ? files_of(vfs).log.get() : files_of(vfs).database.get();
  opened->is_log = log;
  file->pMethods = &kMethods;
  if (given != nullptr) *given = flags;
  return SQLITE_OK;
}

int remove_file(sqlite3_vfs* vfs, const char* path, int) {
  if (!is_log(path)) return SQLITE_OK;
  return empty_log(files_of(vfs).log.get()) == SQLITE_OK ? SQLITE_OK : SQLITE_IOERR_DELETE;
}

int has_file(sqlite3_vfs* vfs, const char* path, int, int* is_there) {
  struct stat status {};
  *is_there =
      is_log(path) && ::fstat(files_of(vfs).log.get(), &status) == 0 && status.st_size > 0 ? 1 : 0;
  return SQLITE_OK;
}

int full_path(sqlite3_vfs*, const char* path, int size, char* out) {
  sqlite3_snprintf(size, out, "%s", path);
  return SQLITE_OK;
}

int random_bytes(sqlite3_vfs*, int size, char* out) {
  return static_cast<int>(
      std::max<ssize_t>(0, ::getrandom(out, static_cast<std::size_t>(size), 0)));
}

int sleep_for(sqlite3_vfs*, int microseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  return microseconds;
}

// Days of the Julian calendar.
int current_time(sqlite3_vfs*, double* days) {
  using Days = std::chrono::duration<double, std::chrono::days::period>;
  *days = 2440587.5 + Days(std::chrono::system_clock::now().time_since_epoch()).count();
  return SQLITE_OK;
}

int last_problem(sqlite3_vfs*, int, char*) {
  return errno;
}

}  // namespace

DescriptorVfs::DescriptorVfs(DatabaseFiles files)
    : files_(std::move(files)), vfs_(std::make_unique<sqlite3_vfs>()) {
  static std::atomic<unsigned> number = 0;
  name_ = "ioc_exporter-" + std::to_string(++number);
  *vfs_ = {};
  vfs_->iVersion = 1;
  vfs_->szOsFile = sizeof(File);
  vfs_->mxPathname = 512;
  vfs_->zName = name_.c_str();
  vfs_->pAppData = &files_;
  vfs_->xOpen = open_file;
  vfs_->xDelete = remove_file;
  vfs_->xAccess = has_file;
  vfs_->xFullPathname = full_path;
  vfs_->xRandomness = random_bytes;
  vfs_->xSleep = sleep_for;
  vfs_->xCurrentTime = current_time;
  vfs_->xGetLastError = last_problem;
  sqlite3_vfs_register(vfs_.get(), 0);
}

DescriptorVfs::~DescriptorVfs() {
  sqlite3_vfs_unregister(vfs_.get());
}

}  // namespace ioc_exporter::delivery
