//! The memory that the system could still give to this process.

use std::fs;

/// The number of bytes that the system could still give, swap included, within the limits of the process, which are set
/// by its control group and for its address space (`ulimit -v`). `None` if the system does not report it.
pub fn free() -> Option<f64> {
    let system = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let swap = kilobytes(&text, "SwapFree:").unwrap_or(0.0);
        Some(kilobytes(&text, "MemAvailable:")? + swap)
    });
    [system, of_group(), of_address_space()]
        .into_iter()
        .flatten()
        .min_by(f64::total_cmp)
}

/// The bytes as text, such as `12.34 GB` (in units of 10^9 bytes), with four decimals below 0.1 GB.
pub fn gigabytes(bytes: f64) -> String {
    let digits = if bytes < 1e8 { 4 } else { 2 };
    format!("{:.digits$} GB", bytes / 1e9)
}

/// The value in a line such as `MemAvailable: 123 kB`, in bytes.
fn kilobytes(text: &str, key: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    let number: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(1024.0 * number)
}

/// The number of bytes that the control group (version 2) leaves; inactive file pages count as free, because
/// the kernel reclaims them.
fn of_group() -> Option<f64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let folder = format!("/sys/fs/cgroup{}", path.trim_end_matches('/'));
    let number = |name: &str| -> Option<f64> {
        let text = fs::read_to_string(format!("{folder}/{name}")).ok()?;
        text.trim().parse().ok()
    };
    let statistics = fs::read_to_string(format!("{folder}/memory.stat")).unwrap_or_default();
    let files = statistics
        .lines()
        .find_map(|line| line.strip_prefix("inactive_file "));
    let files: f64 = files.and_then(|text| text.parse().ok()).unwrap_or(0.0);
    Some((number("memory.max")? - number("memory.current")? + files).max(0.0))
}

fn of_address_space() -> Option<f64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: f64 = line.split_whitespace().next()?.parse().ok()?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    Some((limit - kilobytes(&status, "VmSize:")?).max(0.0))
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_of_the_system_are_read() {
        let text = "MemTotal:       100 kB\nMemAvailable:    64 kB\n";
        assert_eq!(super::kilobytes(text, "MemAvailable:"), Some(65536.0));
        assert_eq!(super::kilobytes(text, "SwapFree:"), None);
        assert!(super::free().is_none_or(|free| free >= 0.0));
        // A gigabyte is 10^9 bytes, not 2^30.
        let texts = [1e9, 12.345e9, 2.5e7].map(super::gigabytes);
        assert_eq!(texts, ["1.00 GB", "12.35 GB", "0.0250 GB"]);
    }
}
