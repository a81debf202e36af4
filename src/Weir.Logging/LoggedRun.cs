using Microsoft.Extensions.Logging;
using Weir.Resilience;

namespace Weir.Logging;

/// <summary>Writes the log lines of one run, with its tags as a scope.</summary>
internal sealed class LoggedRun(ILogger logger, ParallelRunOptions options, string operation, TimeSpan longWait) : RunEvents
{
    private readonly FieldLogger _logger = new(logger, new("Operation", operation), new("OperationName", options.OperationName ?? ""));
    private readonly string _run = Words.Run(operation, options.OperationName ?? "");
    private readonly IReadOnlyList<KeyValuePair<string, object?>>? _tags = options.Metrics?.Tags is { Count: > 0 } tags ? tags : null;

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

    public override void Started(int? totalItems) => InScope(() => Lines.RunStarted(With("TotalItems", totalItems), _run, Words.Items(totalItems)));

    public override void Ended(
        string outcome, long succeeded, long failed, long cancelled, long retries, TimeSpan elapsed, Exception? error) => InScope(() =>
    {
        if (error is null)
        {
            Lines.RunEnded(_logger, _run, outcome, succeeded, failed, cancelled, retries, elapsed.TotalSeconds);
        }
        else
        {
            Lines.RunFailed(_logger, error, _run, succeeded, failed, cancelled, retries, elapsed.TotalSeconds);
        }
    });

    public override void Retrying(long index, int attempt, TimeSpan delay, Exception error) =>
        InScope(() => Lines.Retrying(_logger, error, _run, index, attempt, delay.TotalSeconds));

    public override void StillWaiting(string limit, int waiting, TimeSpan longest) =>
        InScope(() => Lines.StillWaiting(With("Waiting", waiting), _run, Words.WaitAtTheir(waiting), limit, longest.TotalSeconds));

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

            int others = Interlocked.Exchange(ref _untold, 0);
            Lines.WaitedLong(With("Others", others), _run, elapsed.TotalSeconds, limit, Words.AndOthers(others));
        });
    }

    public override void ItemFailed(long index, bool timedOut, Exception? error) => InScope(() =>
    {
        if (timedOut)
        {
            Lines.ItemTimedOut(_logger, error, _run, index);
        }
        else if (error is ConcurrencyLimitRejectedException refused)
        {
            // Without the exception: under overload there are many of these, and its stack tells nothing more.
            Lines.ItemRefused(_logger, _run, index, refused.Limit, refused.MaxWaiting);
        }
        else
        {
            Lines.ItemFailed(_logger, error, _run, index);
        }
    });

    private FieldLogger With(string field, object? value) => new(_logger, new KeyValuePair<string, object?>(field, value));

    private void InScope(Action write) => Write(() =>
    {
        using IDisposable? scope = _tags is null ? null : logger.BeginScope(_tags);
        write();
    });
}
