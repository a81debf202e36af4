using Weir.Lab.Statistics;

namespace Weir.Lab.Benchmarks.Results;

/// <summary>The figures of the workers of one case, for which BenchmarkDotNet has no place.</summary>
public sealed record WorkersResult
{
    /// <summary>How many workers ran.</summary>
    public required int Workers { get; init; }

    /// <summary>Whether they were loops without threads of their own.</summary>
    public required bool IsAsync { get; init; }

    /// <summary>Operations per second of all workers together: the median of the measured windows.</summary>
    public required double OperationsPerSecond { get; init; }

    /// <summary>How long single calls of the method took, from their start; a call is as many operations as <c>OperationsPerInvoke</c> says.</summary>
    public required LatencySummary Latency { get; init; }

    /// <summary>Of how many calls one was timed.</summary>
    public required int SampleEvery { get; init; }

    /// <summary>Bytes that all threads allocated for an operation, without what the workers themselves need.</summary>
    public required double BytesPerOperation { get; init; }

    /// <summary>How many processors were busy.</summary>
    public required double Cores { get; init; }

    /// <summary>How many processors there are.</summary>
    public required int ProcessorCount { get; init; }

    /// <summary>How evenly the work was spread over the workers.</summary>
    public required Fairness Fairness { get; init; }

    /// <summary>How much was under way at once.</summary>
    public required InFlightDepth InFlight { get; init; }

    /// <summary>How much the canary varied before and after, at most: what else the machine did.</summary>
    public required double CanaryVariation { get; init; }

    /// <summary>What a call returned, as far as it can be compared with what another benchmark returns; <see langword="null"/> otherwise.</summary>
    public string? Returned { get; init; }
}
