//! The CPU clock of a worker's thread.

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

/// The CPU clock of one thread; may be read from any thread while that one lives, and says zero afterwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuClock(libc::clockid_t);

impl CpuClock {
    /// The clock of the calling thread.
    pub(crate) fn of_this_thread() -> io::Result<Self> {
        let mut clock = MaybeUninit::<libc::clockid_t>::uninit();
        // SAFETY: `pthread_self` is the calling thread, which lives; `clock` is room for one clock id.
        let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), clock.as_mut_ptr()) };
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed));
        }
        // SAFETY: the call above succeeded, so the clock id is initialised.
        Ok(CpuClock(unsafe { clock.assume_init() }))
    }

    /// The CPU time that the thread has used.
    pub(crate) fn read(self) -> Duration {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is room for the answer. A clock whose thread has ended is an error (`EINVAL`), and leaves `time` at zero.
        unsafe { libc::clock_gettime(self.0, &mut time) };
        Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.clamp(0, 999_999_999) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_counts_work_of_its_thread_and_of_no_other() {
        let mine = CpuClock::of_this_thread().unwrap();
        let before = mine.read();
        let theirs = std::thread::spawn(|| {
            let clock = CpuClock::of_this_thread().unwrap();
            let end = std::time::Instant::now() + Duration::from_millis(40);
            while std::time::Instant::now() < end {
                std::hint::spin_loop();
            }
            clock.read()
        })
        .join()
        .unwrap();
        assert!(theirs > Duration::from_millis(5));
        assert!(mine.read() - before < theirs);
    }
}
