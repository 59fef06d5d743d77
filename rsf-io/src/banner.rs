//! The line that every program adds to the history of its outputs: version, program, directory, user, host and time.
//! Because of the time, a rewritten header differs from the old one, so that SCons notices it.

use std::env;
use std::ffi::CStr;
use std::path::Component;
use std::sync::OnceLock;

/// `sifaka-0.1.0`, followed by `-COMMIT` if SIFAKA_COMMIT was set when the library was built.
pub fn version() -> String {
    let number = concat!("sifaka-", env!("CARGO_PKG_VERSION"));
    match option_env!("SIFAKA_COMMIT") {
        Some(commit) if !commit.is_empty() => format!("{number}-{commit}"),
        _ => number.to_string(),
    }
}

/// The banner, followed by an empty line.
pub(crate) fn banner(program: &str) -> String {
    let line = format!(
        "{}\t{program}\t{}:\t{}@{}\t{}",
        version(),
        place(),
        user(),
        host(),
        now()
    );
    format!("{}\n\n", harmless(&line))
}

/// Replaces the characters with which `text` would set a key or open a string if it were read as part of a
/// header.
pub(crate) fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '=' => ':',
            '"' => '\'',
            '\t' => c,
            c if c.is_control() => ' ',
            c => c,
        })
        .collect()
}

/// The last three parts of the current directory.
pub(crate) fn place() -> String {
    let Ok(dir) = env::current_dir() else {
        return String::new();
    };
    let parts: Vec<_> = dir
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy()),
            _ => None,
        })
        .collect();
    parts[parts.len().saturating_sub(3)..].join("/")
}

/// The C string that the C library wrote to `buffer`.
fn text_of(buffer: &[u8]) -> String {
    CStr::from_bytes_until_nul(buffer)
        .map(|text| text.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The name of this machine.
pub(crate) fn host() -> String {
    let mut buffer = [0u8; 256];
    // SAFETY: the length is one less than the buffer's, so a NUL remains even if the name is truncated.
    unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
    text_of(&buffer)
}

/// The login name; without one, the name of the effective user; without that, the user ID.
fn user() -> &'static str {
    static USER: OnceLock<String> = OnceLock::new();
    USER.get_or_init(|| {
        // SAFETY: the call has no preconditions but uses one static buffer: the lock around this closure
        // makes it the only call, and the text is copied before the lock is left.
        let name = unsafe { libc::getlogin() };
        if !name.is_null() {
            // SAFETY: `name` is not null, so it points to a NUL-terminated string in that static buffer.
            return unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        }
        // SAFETY: the call has no preconditions.
        let uid = unsafe { libc::geteuid() };
        passwd_name(uid).unwrap_or_else(|| uid.to_string())
    })
}

fn passwd_name(uid: libc::uid_t) -> Option<String> {
    let mut buffer = vec![0u8; 16384];
    let mut result = std::ptr::null_mut();
    // SAFETY: an all-zero passwd is valid (numbers and null pointers).
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    // SAFETY: every pointer is to a live local, and the length equals the buffer's.
    let failed = unsafe {
        libc::getpwuid_r(
            uid,
            &mut entry,
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            &mut result,
        )
    };
    if failed != 0 || result.is_null() || entry.pw_name.is_null() {
        return None;
    }
    // SAFETY: on success pw_name points to a NUL-terminated string inside `buffer`, which is alive.
    let name = unsafe { CStr::from_ptr(entry.pw_name) };
    Some(name.to_string_lossy().into_owned())
}

/// Local time as `ctime` writes it: `Fri Nov 20 09:10:51 2026`.
fn now() -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    // SAFETY: a null pointer is allowed: the time is only returned.
    let seconds = unsafe { libc::time(std::ptr::null_mut()) };
    // SAFETY: an all-zero tm is valid (numbers and a null pointer).
    let mut t: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals.
    unsafe { libc::localtime_r(&seconds, &mut t) };
    let name = |names: &[&'static str], i: i32| names.get(i as usize).copied().unwrap_or("???");
    format!(
        "{} {} {:2} {:02}:{:02}:{:02} {}",
        name(&DAYS, t.tm_wday),
        name(&MONTHS, t.tm_mon),
        t.tm_mday,
        t.tm_hour,
        t.tm_min,
        t.tm_sec,
        i64::from(t.tm_year) + 1900
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_banner_sets_no_key() {
        let text = banner("prog=\"x\"");
        assert!(
            text.ends_with("\n\n") && text.matches('\t').count() == 4,
            "{text:?}"
        );
        let header = crate::Header::parse(text.as_bytes()).unwrap();
        assert_eq!(header.entries().count(), 0);
    }

    #[test]
    fn times_look_like_ctime() {
        let words: Vec<String> = now().split_whitespace().map(str::to_string).collect();
        assert_eq!(words.len(), 5);
        assert_eq!((words[0].len(), words[1].len(), words[3].len()), (3, 3, 8));
        assert!(words[4].parse::<u32>().unwrap() >= 2024);
    }
}
