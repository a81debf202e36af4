using Microsoft.Extensions.Logging;
using Weir.Resilience;

namespace Weir.Logging;

/// <summary>Writes the log lines of one run, with its tags as a scope.</summary>
internal sealed class LoggedRun(ILogger logger, ParallelRunOptions options, string operation, TimeSpan longWait) : RunEvents
{
    private readonly string _name = options.OperationName ?? "";
    private readonly IReadOnlyList<KeyValuePair<string, object?>>? _tags = options.Tags is { Count: > 0 } tags ? tags : null;

    // Under overload nearly every item waits: after a line, the next ones are counted for as long as a wait must last to be one.
    private long _quietUntil = long.MinValue;
    private int _untold;

    public override TimeSpan LongWait => longWait;

    /// <summary>Calls a logger, whose failure must not become that of a run.</summary>
    public static void Write(Action write)
    {
        try
        {
            write();
        }
        catch (Exception)
        {
            // See above.
        }
    }

    public override RunEvents ForRun(ParallelRunOptions options, string operation) =>
        new LoggedRun(logger, options, operation, longWait);

    public override void Started(int? totalItems) => InScope(() => Lines.RunStarted(logger, operation, _name, totalItems));

    public override void Ended(string outcome, long succeeded, long failedOrCancelled, long retries, TimeSpan elapsed, Exception? error) => InScope(() =>
    {
        if (error is null)
        {
            Lines.RunEnded(logger, operation, _name, outcome, succeeded, failedOrCancelled, retries, elapsed.TotalSeconds);
        }
        else
        {
            Lines.RunFailed(logger, error, operation, _name, succeeded, failedOrCancelled, retries, elapsed.TotalSeconds);
        }
    });

    public override void Retrying(long index, int attempt, TimeSpan delay, Exception error) =>
        InScope(() => Lines.Retrying(logger, error, operation, _name, index, attempt, delay.TotalSeconds));

    public override void StillWaiting(string limit, int waiting, TimeSpan longest) =>
        InScope(() => Lines.StillWaiting(logger, operation, _name, waiting, limit, longest.TotalSeconds));

    public override void WaitedLong(string limit, TimeSpan elapsed)
    {
        InScope(() =>
        {
            TimeProvider clock = options.TimeProvider;
            long now = clock.GetTimestamp();
            long until = Volatile.Read(ref _quietUntil);
            long next = now + (long)(longWait.TotalSeconds * clock.TimestampFrequency);
            if (now < until || Interlocked.CompareExchange(ref _quietUntil, next, until) != until)
            {
                Interlocked.Increment(ref _untold);
                return;
            }

            Lines.WaitedLong(logger, operation, _name, elapsed.TotalSeconds, limit, Interlocked.Exchange(ref _untold, 0));
        });
    }

    public override void ItemFailed(long index, bool timedOut, Exception? error) => InScope(() =>
    {
        if (timedOut)
        {
            Lines.ItemTimedOut(logger, error, operation, _name, index);
        }
        else if (error is ConcurrencyLimitRejectedException refused)
        {
            // Without the exception: under overload there are many of these, and its stack tells nothing more.
            Lines.ItemRefused(logger, operation, _name, index, refused.Limit, refused.MaxWaiting);
        }
        else
        {
            Lines.ItemFailed(logger, error, operation, _name, index);
        }
    });

    private void InScope(Action write) => Write(() =>
    {
        using IDisposable? scope = _tags is null ? null : logger.BeginScope(_tags);
        write();
    });
}
