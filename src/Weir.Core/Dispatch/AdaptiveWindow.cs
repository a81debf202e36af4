using System.Runtime.InteropServices;

namespace Weir.Core.Dispatch;

/// <summary>What a window of completed calls has shown. Times are in ticks of the run's clock.</summary>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct AdaptiveWindow
{
    /// <summary>With fewer <see cref="Moments"/> than this, a window does not know its own <see cref="Error"/>.</summary>
    public const int FewMoments = 5;

    /// <summary>How many calls ended.</summary>
    public required int Count { get; init; }

    /// <summary>The part of them that succeeded.</summary>
    public required double SuccessRate { get; init; }

    /// <summary>How many calls were in flight when one of them ended, itself included; the mean.</summary>
    public required double InFlight { get; init; }

    /// <summary>The mean latency of those that succeeded, each counted at most as the law's clip says; 0 when none did.</summary>
    public required double Latency { get; init; }

    /// <summary>The standard error of <see cref="Latency"/>, as a part of it.</summary>
    public required double Error { get; init; }

    /// <summary>At how many moments calls ended: those that end together are one observation of the latency.</summary>
    public required int Moments { get; init; }

    /// <summary>
    /// The latency by Little's law: time × calls in flight ÷ calls ended. It counts the calls that have not ended yet, which the mean of those
    /// that have leaves out; that matters while the limit is doubling.
    /// </summary>
    public required double Turnover { get; init; }

    /// <summary>The latency at the target's percentile; 0 without a target.</summary>
    public double Percentile { get; init; }
}
