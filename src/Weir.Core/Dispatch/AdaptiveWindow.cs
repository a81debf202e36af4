using System.Runtime.InteropServices;

namespace Weir.Core.Dispatch;

/// <summary>The measurements of a window of completed calls. Times are in ticks of the run's clock.</summary>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct AdaptiveWindow
{
    /// <summary>With fewer <see cref="Moments"/> than this, a window cannot estimate its own <see cref="Error"/>.</summary>
    public const int FewMoments = 5;

    /// <summary>How many calls ended.</summary>
    public required int Count { get; init; }

    /// <summary>The fraction of them that succeeded.</summary>
    public required double SuccessRate { get; init; }

    /// <summary>The mean number of calls in flight when one of them ended, including that call.</summary>
    public required double InFlight { get; init; }

    /// <summary>The mean latency of the calls that succeeded, each limited to the law's clip; 0 if none succeeded.</summary>
    public required double Latency { get; init; }

    /// <summary>The standard error of <see cref="Latency"/>, relative to it.</summary>
    public required double Error { get; init; }

    /// <summary>The number of moments at which calls ended: calls that end together are one observation of the latency.</summary>
    public required int Moments { get; init; }

    /// <summary>
    /// The latency by Little's law: time × calls in flight ÷ calls ended. It includes the calls that have not ended yet, which the mean of those
    /// that have ended leaves out. This matters while the limit doubles.
    /// </summary>
    public required double Turnover { get; init; }

    /// <summary>The latency at the target's percentile; 0 without a target.</summary>
    public double Percentile { get; init; }
}
