using System.Collections.Concurrent;

namespace Weir.Resilience.Tests.RateLimit;

/// <summary>
/// Calls of one bucket on a manual clock whose timers fire on a tick. After each step all that may happen at this time has happened, so that a start has the
/// time of its call.
/// </summary>
internal sealed class BucketRun : IDisposable
{
    private readonly ManualTimeProvider _clock = new();
    private readonly RateLimitOptions _options;
    private readonly TokenBucket _bucket;
    private readonly List<(Task<long?> Start, CancellationTokenSource Cancel)> _calls = [];
    private readonly ConcurrentQueue<long> _starts = [];

    public BucketRun(RateLimitOptions options, TimeSpan tick)
    {
        // A clock of its own, as each process has: its zero is nobody's.
        _clock.Advance(TimeSpan.FromHours(5));
        _options = options;
        _bucket = new TokenBucket(options with { TimeProvider = new TickedTimeProvider(_clock, tick) });
    }

    public double Seconds => _clock.GetTimestamp() / (double)TimeSpan.TicksPerSecond;

    public int Waiting => _bucket.Waiting;

    public int ArmedTimers => _clock.ArmedTimers;

    /// <summary>When the calls started that were made with a wait, in the order in which they asked.</summary>
    public IEnumerable<long> StartsOfThoseThatWaited =>
        _calls.Where(static c => c.Start.IsCompletedSuccessfully).Select(static c => c.Start.Result).OfType<long>();

    public double Excess() =>
        RateBound.Excess(_starts, _clock.TimestampFrequency, _options.TokensPerSecond, _options.BurstCapacity, _options.TokensPerOperation);

    public void Move(TimeSpan by)
    {
        // Not over what happens on the way: a call whose time it was would start later, which is what the tick is for.
        long target = _clock.GetTimestamp() + by.Ticks;
        while (_clock.NextDue is { } due && due.Ticks <= target)
        {
            MoveTo(due.Ticks);
        }

        MoveTo(target);
    }

    public void Wait(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            var cancel = new CancellationTokenSource();
            _calls.Add((StartAsync(cancel.Token), cancel));
        }

        Settle();
    }

    public void Try(int calls)
    {
        bool mayEnter = _bucket.RetryAfter == TimeSpan.Zero;
        for (int i = 0; i < calls; i++)
        {
            bool enters = _bucket.TryEnter();
            Assert.True(i > 0 || enters == mayEnter, "What a call is told and what it gets differ.");
            if (enters)
            {
                _starts.Enqueue(_clock.GetTimestamp());
            }
        }
    }

    public void Cancel(int which)
    {
        (Task Start, CancellationTokenSource Cancel)[] waiting = [.. _calls.Where(static c => !c.Start.IsCompleted)];
        if (waiting.Length > 0)
        {
            waiting[which % waiting.Length].Cancel.Cancel();
            Settle();
        }
    }

    public void ServeAll()
    {
        while (_bucket.Waiting > 0)
        {
            MoveTo(_clock.NextDue!.Value.Ticks);
        }

        Assert.All(_calls, static c => Assert.True(c.Start.IsCompletedSuccessfully));
    }

    public void Dispose() => _calls.ForEach(static c => c.Cancel.Dispose());

    private async Task<long?> StartAsync(CancellationToken token)
    {
        try
        {
            await _bucket.WaitAsync(token).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (token.IsCancellationRequested)
        {
            return null;
        }

        long now = _clock.GetTimestamp();
        _starts.Enqueue(now);
        return now;
    }

    private void MoveTo(long timestamp)
    {
        _clock.Advance(TimeSpan.FromTicks(timestamp - _clock.GetTimestamp()));
        Settle();
    }

    private void Settle() =>
        Assert.True(SpinWait.SpinUntil(IsSettled, TimeSpan.FromSeconds(60)), $"{_bucket.Waiting} calls wait, and {_clock.ArmedTimers} timers are armed.");

    private bool IsSettled()
    {
        // The same before and after: nobody was let in meanwhile.
        int waiting = _bucket.Waiting;
        return _calls.Count(static c => !c.Start.IsCompleted) == waiting && _clock.ArmedTimers == Math.Min(1, waiting) && _bucket.Waiting == waiting;
    }
}
