using Weir.Core.Metering;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <summary>
/// The item that a worker keeps while its call runs, because it may have to come back, with what it brought along from earlier attempts. An item that waits for
/// its next attempt holds no worker.
/// </summary>
internal struct HeldItem<T>(T item, Repetition? repetition)
{
    public readonly T? Item = item;

    /// <summary>What it brought along; null for one that came for the first time.</summary>
    public readonly Repetition? Repetition = repetition;

    /// <summary>How many attempts were made before this one.</summary>
    public readonly int Attempts => Repetition?.Attempts ?? 0;

    /// <summary>The delay before this attempt.</summary>
    public readonly TimeSpan Delay => Repetition?.Delay ?? TimeSpan.Zero;

    /// <summary>What it brings along to its next attempt, which comes after a delay.</summary>
    /// <param name="delay">The delay.</param>
    /// <param name="deadline">When the item's own time limit passes.</param>
    /// <param name="now">Now.</param>
    /// <param name="wasCalled">Whether this attempt made its call. Otherwise it does not count.</param>
    public readonly Repetition After(TimeSpan delay, long deadline, long now, bool wasCalled)
    {
        int made = Attempts + (wasCalled ? 1 : 0);
        return new(made, delay, deadline, wasCalled ? WaitKind.Retry : WaitKind.CircuitBreaker, now, before: wasCalled ? null : Repetition);
    }

    /// <summary>The same where this attempt could not begin: it waits for something, with the item's clock stopped.</summary>
    public readonly Repetition Until(WaitKind kind, long deadline, long now)
    {
        long left = deadline == ItemClock.Never ? ItemClock.Never : Math.Max(0, deadline - now);
        return new(Attempts, Delay, left, kind, now, stopped: true, before: Repetition);
    }
}
