using Weir.Core.Metering;

namespace Weir.Core.Dispatch;

/// <summary>Who is told of the waits of one run, when they begin and when they end. The methods are called by workers, and must not throw.</summary>
internal abstract class WaitListener
{
    /// <summary>An item begins to wait. Told before anything can end the wait.</summary>
    /// <param name="kind">What it waits for.</param>
    /// <param name="since">Since when, as a timestamp of the run's clock. Earlier than now if the item waits again without having made a call.</param>
    public abstract void Began(WaitKind kind, long since);

    /// <summary>The item goes on. Not told of waits that the end of the run has ended.</summary>
    /// <param name="kind">What it waited for.</param>
    /// <param name="since">What <see cref="Began"/> was told.</param>
    public abstract void Ended(WaitKind kind, long since);
}
