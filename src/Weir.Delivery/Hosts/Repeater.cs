using Weir.Resilience;

namespace Weir.Delivery;

/// <summary>Repeats the calls around the items, such as acknowledging, while the server is unavailable. Only a wrong setup stops it.</summary>
internal sealed class Repeater(TimeProvider clock, Action<Exception>? onFault)
{
    private static readonly TimeSpan Base = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan Longest = TimeSpan.FromSeconds(5);
    private long _faults;
    private volatile Exception? _last;

    public long Faults => Volatile.Read(ref _faults);

    /// <summary>The last fault, until a call that was repeated has worked.</summary>
    public Exception? Last => _last;

    public async ValueTask RunAsync(Func<CancellationToken, ValueTask> call, CancellationToken cancellationToken)
    {
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                await call(cancellationToken).ConfigureAwait(false);
                if (attempt > 1)
                {
                    _last = null;
                }

                return;
            }
            catch (Exception e) when (IsWorthRepeating(e) && !(e is OperationCanceledException && cancellationToken.IsCancellationRequested))
            {
                Report(e);

                // A connection was lost while the host stops. The call is not repeated any more, but this is no reason for the host to fail.
                cancellationToken.ThrowIfCancellationRequested();
                TimeSpan delay = Backoff.GetDelay(BackoffStrategy.ExponentialJitter, Base, Longest, attempt, TimeSpan.Zero, SeededRandom.Shared.NextDouble);
                await Task.Delay(TimerDelay.RoundUp(delay), clock, cancellationToken).ConfigureAwait(false);
            }
        }
    }

    public void Report(Exception fault)
    {
        Interlocked.Increment(ref _faults);
        _last = fault;
        try
        {
            onFault?.Invoke(fault);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // A listener that fails must not end the host.
        }
    }

    private static bool IsWorthRepeating(Exception e) => e is not (WorkSetupException or ArgumentException or ObjectDisposedException);
}
