namespace Weir.Lab.Report.Writing;

/// <summary>Writes a result as comma-separated values: one line a round, with every figure, unrounded.</summary>
internal static class ResultCsv
{
    private static readonly (string Name, Func<ArmRecord, RoundRecord, object?> Value)[] OfRound =
    [
        ("order", static (_, r) => r.Order),
        ("arm", static (a, _) => a.Name),
        ("workers", static (a, _) => a.Workers),
        ("process", static (_, r) => r.Process),
        ("turn", static (_, r) => r.Turn),
        ("partial", static (_, r) => r.Partial ? "true" : "false"),
        ("problem", static (_, r) => r.Problem),
        ("passes", static (_, r) => r.Passes),
        ("operations", static (_, r) => r.Operations),
        ("failures", static (_, r) => r.Failures),
        ("timed_out", static (_, r) => r.TimedOut),
        ("seconds", static (_, r) => r.Seconds),
        ("rate_per_second", static (_, r) => r.Rate),
        ("cpu_user_seconds", static (_, r) => r.CpuUserSeconds),
        ("cpu_system_seconds", static (_, r) => r.CpuSystemSeconds),
        ("machine_idle", static (_, r) => r.MachineIdle),
        ("room", static (_, r) => r.Room),
        ("allocated_bytes", static (_, r) => r.AllocatedBytes),
        ("gc_gen0", static (_, r) => r.Gen0),
        ("gc_gen1", static (_, r) => r.Gen1),
        ("gc_gen2", static (_, r) => r.Gen2),
        ("gc_pause_seconds", static (_, r) => r.GcPauseSeconds),
        ("pool_threads", static (_, r) => r.PoolThreads),
        ("lock_contentions", static (_, r) => r.LockContentions),
        ("context_switches", static (_, r) => r.ContextSwitches),
        ("compiled_methods", static (_, r) => r.CompiledMethods),
        ("compilation_seconds", static (_, r) => r.CompilationSeconds),
        ("pool_pending", static (_, r) => r.PoolPending),
        ("steal_seconds", static (_, r) => r.StealSeconds),
        ("cpu_pressure_seconds", static (_, r) => r.CpuPressureSeconds),
        ("io_pressure_seconds", static (_, r) => r.IoPressureSeconds),
        ("throttled_periods", static (_, r) => r.ThrottledPeriods),
        ("peak_resident_bytes", static (_, r) => r.PeakResidentBytes),
        ("overhead_ns", static (_, r) => r.OverheadNs),
        ("overhead_subtracted", static (_, r) => r.OverheadSubtracted ? "true" : "false"),
        ("open_average", static (_, r) => r.Open),
        ("open_max", static (_, r) => r.OpenMax),
        ("waiting_reads_average", static (_, r) => r.InFlight),
        ("waiting_reads_max", static (_, r) => r.InFlightMax),
        ("bytes", static (_, r) => r.Bytes),
        ("device_bytes", static (_, r) => r.DeviceBytes),
        ("checksum", static (_, r) => r.Checksum),
        ("late_starts", static (_, r) => r.LateStarts),
        ("dropped", static (_, r) => r.Dropped),
        ("duplicates", static (_, r) => r.Duplicates),
        ("lost", static (_, r) => r.Lost),
        ("out_of_order", static (_, r) => r.OutOfOrder),
        ("longest_gap_seconds", static (_, r) => r.LongestGapSeconds),
        ("canary_slowness", static (_, r) => r.CanarySlowness),
        ("canary_variation", static (_, r) => r.CanaryVariation),
        ("per_worker", static (_, r) => string.Join(' ', r.PerWorker)),
    ];

    /// <summary>The columns, in their order.</summary>
    public static IReadOnlyList<string> Columns { get; } =
    [
        .. OfRound.Select(static c => c.Name),
        "arm_rate_median", "arm_rate_low", "arm_rate_high", "arm_rate_level",
        .. Latencies.SelectMany(static kind => KnownPercentile.Usual.Select(p => ColumnOf(kind, p)).Prepend($"{kind}_count")),
        "commit", "clean",
    ];

    private static IEnumerable<string> Latencies => ["service", "response"];

    /// <summary>Writes them.</summary>
    public static string Write(ResultFile result)
    {
        StringBuilder text = new();
        text.AppendJoin(',', Columns).Append('\n');
        foreach ((ArmRecord arm, MedianInterval? rate, RoundRecord round) in result.Arms
            .Select(static arm => (arm, Rate: arm.IsMeasured ? arm.RateInterval() : (MedianInterval?)null))
            .SelectMany(static a => a.arm.Rounds, static (a, r) => (a.arm, a.Rate, r))
            .OrderBy(static x => x.r.Order))
        {
            text.AppendJoin(',', Values(result, arm, round, rate).Select(Cell)).Append('\n');
        }

        return text.ToString();
    }

    private static IEnumerable<object?> Values(ResultFile result, ArmRecord arm, RoundRecord round, MedianInterval? rate)
    {
        IEnumerable<object?> latencies = new[] { round.Service, round.Response }.SelectMany(text =>
        {
            LatencyHistogram? latency = text is null ? null : HistogramCodec.Decode(text);
            return KnownPercentile.Usual.Select(p => (object?)(latency is null ? null : KnownPercentile.Of(latency, p, result.Machine.ClockNs)?.Nanoseconds))
                .Prepend(latency?.Count);
        });
        return
        [
            .. OfRound.Select(c => c.Value(arm, round)), rate?.Median, rate?.Low, rate?.High, rate?.Level, .. latencies, result.Source?.Commit,
            result.Source is { } source ? source.Clean ? "true" : "false" : null,
        ];
    }

    // p99.9 as p99_9, because a point is no part of a name in most programs.
    private static string ColumnOf(string kind, double percentile) => $"{kind}_p{percentile.ToString(CultureInfo.InvariantCulture).Replace('.', '_')}_ns";

    private static string Cell(object? value)
    {
        string text = Convert.ToString(value, CultureInfo.InvariantCulture) ?? "";
        return text.AsSpan().IndexOfAny(",\"\r\n") >= 0 ? $"\"{text.Replace("\"", "\"\"", StringComparison.Ordinal)}\"" : text;
    }
}
