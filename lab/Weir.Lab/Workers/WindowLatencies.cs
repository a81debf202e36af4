namespace Weir.Lab.Workers;

/// <summary>The latencies of a window: a histogram for each worker, or, where there are very many, for some of them together.</summary>
/// <param name="spec">How the run is done.</param>
/// <param name="plan">How the window is done.</param>
internal sealed class WindowLatencies(WorkerRunSpec spec, WindowPlan plan)
{
    // More histograms than this would cost more memory than knowing each worker's latencies is worth.
    private const int MostHistograms = 256;

    private readonly LatencyHistogram[] _service = New(spec, spec.MeasuresLatency);
    private readonly LatencyHistogram[] _response = New(spec, spec is { MeasuresLatency: true, RatePerSecond: not null });

    // Only what takes turns is compared by them, and each round keeps its own.
    private readonly LatencyHistogram[] _batches = New(spec, spec is { MeasuresLatency: true, TakesTurns: true } && plan.Batch > 1);

    /// <summary>Where a worker records; <see langword="null"/> when latency is not measured.</summary>
    public LatencyRecorder? RecorderOf(int worker) => _service.Length == 0
        ? null
        : new LatencyRecorder(
            _service[worker % _service.Length],
            _response.Length > 0 ? _response[worker % _service.Length] : null,
            _batches.Length > 0 ? _batches[worker % _service.Length] : null,
            isShared: spec.Workers > _service.Length);

    /// <summary>All service times; <see langword="null"/> when latency was not measured.</summary>
    public LatencyHistogram? Service() => Merge(_service);

    /// <summary>All response times; <see langword="null"/> when there was no rate.</summary>
    public LatencyHistogram? Response() => Merge(_response);

    /// <summary>How long whole batches took; <see langword="null"/> where there are none, or such of several sizes, and where nothing takes turns.</summary>
    public LatencyHistogram? Batches() => Merge(_batches);

    private static LatencyHistogram? Merge(LatencyHistogram[] parts)
    {
        if (parts.Length == 0)
        {
            return null;
        }

        LatencyHistogram sum = new();
        foreach (LatencyHistogram part in parts)
        {
            sum.Merge(part);
        }

        return sum;
    }

    private static LatencyHistogram[] New(WorkerRunSpec spec, bool isNeeded) =>
        [.. Enumerable.Range(0, isNeeded ? Math.Min(spec.Workers, MostHistograms) : 0).Select(static _ => new LatencyHistogram())];
}
