using Spectre.Console;
using Spectre.Console.Rendering;
using Weir.Cli.Kit.Formatting;

namespace Weir.Cli.Commands.Load;

/// <summary>
/// Shows what the arms are doing: a live table on a terminal, or one line for each second elsewhere. It is written to the error output.
/// </summary>
internal sealed class LoadWatch : ITrialObserver, IDisposable
{
    private static readonly TimeSpan Period = TimeSpan.FromMilliseconds(250);
    private static readonly TimeSpan LinePeriod = TimeSpan.FromSeconds(1);

    private readonly Lock _lock = new();
    private readonly IReadOnlyDictionary<string, WatchedArm> _arms;
    private readonly Action<IRenderable>? _draw;
    private readonly TextWriter _output;
    private readonly Timer _timer;
    private WatchedArm? _running;

    private LoadWatch(IReadOnlyList<WatchedArm> arms, TextWriter output, Action<IRenderable>? draw)
    {
        _arms = arms.ToDictionary(static arm => arm.Name);
        _output = output;
        _draw = draw;
        _timer = new Timer(static watch => ((LoadWatch)watch!).Tick(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    /// <summary>Runs something, and shows it.</summary>
    public static async Task<TrialReport> RunAsync(WeirHost host, IReadOnlyList<WatchedArm> arms, Func<ITrialObserver, Task<TrialReport>> run)
    {
        if (!host.ErrorIsTerminal)
        {
            using LoadWatch lines = new(arms, host.Error, null);
            return await run(lines);
        }

        return await Consoles.Create(host.Error, isTerminal: true).Live(TableOf(arms)).AutoClear(true).StartAsync(async context =>
        {
            using LoadWatch table = new(arms, host.Error, context.UpdateTarget);
            return await run(table);
        });
    }

    /// <summary>The table as it is now.</summary>
    public static Table TableOf(IEnumerable<WatchedArm> arms)
    {
        Table table = new Table().Border(TableBorder.Rounded);
        foreach (string title in new[] { "runtime", "state", "items/s", "in flight", "limit", "p50", "p99", "max", "errors" })
        {
            TableColumn column = new(new Text(title, new Style(decoration: Decoration.Bold))) { NoWrap = true };
            table.AddColumn(title is "runtime" or "state" ? column : column.RightAligned());
        }

        foreach (WatchedArm arm in arms)
        {
            Style style = arm.IsRunning ? new Style(Color.Green) : new Style(decoration: Decoration.Dim);
            string[] figures = arm.Reading is { } reading
                ?
                [
                    Numbers.Scaled(reading.Rate), arm.IsRunning ? Numbers.Grouped(reading.InFlight) : "-", Numbers.Grouped(arm.Limit),
                    Numbers.Time(reading.P50), Numbers.Time(reading.P99), Numbers.Time(reading.Max), Numbers.Grouped(reading.Errors),
                ]
                : ["-", "-", Numbers.Grouped(arm.Limit), "-", "-", "-", "-"];
            table.AddRow(new[] { arm.Name, arm.State }.Concat(figures).Select(cell => new Text(cell, style)));
        }

        return table;
    }

    public void Started(TrialStep trialStep)
    {
        lock (_lock)
        {
            _running = _arms[trialStep.Arm.Name];
            _running.Begin(trialStep);
        }

        TimeSpan period = _draw is null ? LinePeriod : Period;
        _timer.Change(period, period);
    }

    public void Ended(TrialStep trialStep, RoundRecord? round)
    {
        _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        lock (_lock)
        {
            WatchedArm arm = _arms[trialStep.Arm.Name];
            arm.End(trialStep, round);
            _running = null;
            if (_draw is null && round is not null)
            {
                WriteLine(arm);
            }

            Show();
        }
    }

    public void Dispose() => _timer.Dispose();

    private void Tick()
    {
        lock (_lock)
        {
            if (_running is not { } arm)
            {
                return;
            }

            arm.Refresh();
            if (_draw is null)
            {
                WriteLine(arm);
            }

            Show();
        }
    }

    private void Show() => _draw?.Invoke(TableOf(_arms.Values));

    private void WriteLine(WatchedArm arm)
    {
        if (arm.Reading is { } r)
        {
            string inFlight = arm.IsRunning ? $"in flight {Numbers.Grouped(r.InFlight)} of {Numbers.Grouped(arm.Limit)}, " : "";
            _output.WriteLine(
                $"{arm.Name}, {arm.State}: {Numbers.Scaled(r.Rate)}/s, {inFlight}p50 {Numbers.Time(r.P50)}, p99 {Numbers.Time(r.P99)}, max "
                    + $"{Numbers.Time(r.Max)}, errors {Numbers.Grouped(r.Errors)}");
        }
    }
}

/// <summary>One row of the view: an arm, and what it did since the last reading.</summary>
internal sealed class WatchedArm(string name, int limit, WatchMeter meter)
{
    private long _endedBefore;
    private long _lookedAt;

    public string Name => name;

    /// <summary>How many items may be in flight.</summary>
    public int Limit => limit;

    public string State { get; private set; } = "waiting";

    public bool IsRunning { get; private set; }

    /// <summary>The last reading, or null if there was none.</summary>
    public WatchReading? Reading { get; private set; }

    public void Begin(TrialStep step)
    {
        meter.Clear();
        IsRunning = true;
        State = step.Round == 0 ? "warming up" : $"round {step.Round} of {step.Rounds}";
        _endedBefore = meter.Ended;
        _lookedAt = Stopwatch.GetTimestamp();
    }

    public void End(TrialStep step, RoundRecord? round)
    {
        IsRunning = false;
        State = step.Round == 0 ? "warm" : round is { Partial: true } ? "stopped" : $"{step.Round} of {step.Rounds} done";
        if (round is not null)
        {
            // The rate of the whole window says more than that of its last part.
            Refresh(round.Rate);
        }
    }

    /// <summary>Reads the meter.</summary>
    public void Refresh(double? rate = null)
    {
        long now = Stopwatch.GetTimestamp();
        long ended = meter.Ended;
        double seconds = Stopwatch.GetElapsedTime(_lookedAt, now).TotalSeconds;
        rate ??= seconds > 0 ? (ended - _endedBefore) / seconds : 0;
        (_lookedAt, _endedBefore) = (now, ended);
        Lab.Latency.LatencyHistogram latencies = meter.Latencies();
        Reading = new WatchReading(
            rate.Value,
            meter.InFlight,
            TimeSpan.FromMicroseconds(latencies.ValueAtPercentile(50) / 1e3),
            TimeSpan.FromMicroseconds(latencies.ValueAtPercentile(99) / 1e3),
            TimeSpan.FromMicroseconds(latencies.Max / 1e3),
            meter.Errors);
    }
}

/// <summary>Counts the items of one arm around the work itself, in the same way for runtimes and peers.</summary>
internal sealed class WatchMeter
{
    // Threads that share a stripe only contend for its cache line.
    private const int Stripes = 8;
    private const int Pad = 16;

    private readonly LatencyHistogram[] _latencies = [.. Enumerable.Range(0, Stripes).Select(static _ => new LatencyHistogram())];
    private readonly long[] _begun = new long[Stripes * Pad];
    private readonly long[] _ended = new long[Stripes * Pad];
    private readonly long[] _errors = new long[Stripes * Pad];

    /// <summary>Items whose work has ended, with a result or an error.</summary>
    public long Ended => Sum(_ended);

    public long Errors => Sum(_errors);

    /// <summary>Items that are running. The ended items are read first, so items that end meanwhile never make it too low.</summary>
    public long InFlight
    {
        get
        {
            long ended = Ended;
            return Math.Max(0, Sum(_begun) - ended);
        }
    }

    /// <summary>The latencies so far, while others may be added.</summary>
    public LatencyHistogram Latencies()
    {
        LatencyHistogram all = new();
        foreach (LatencyHistogram stripe in _latencies)
        {
            all.Merge(stripe);
        }

        return all;
    }

    /// <summary>Forgets the latencies and the errors, for the next window. Called while nothing runs.</summary>
    public void Clear()
    {
        foreach (LatencyHistogram stripe in _latencies)
        {
            stripe.Clear();
        }

        Array.Clear(_errors);
    }

    /// <summary>The work, counted and timed.</summary>
    public Func<int, CancellationToken, ValueTask<int>> Around(Func<int, CancellationToken, ValueTask<int>> processor) => (item, cancellationToken) =>
    {
        int stripe = Begin();
        long started = Stopwatch.GetTimestamp();
        ValueTask<int> pending;
        try
        {
            pending = processor(item, cancellationToken);
        }
        catch
        {
            End(stripe, started, failed: true);
            throw;
        }

        if (!pending.IsCompletedSuccessfully)
        {
            return FinishAsync(pending, stripe, started);
        }

        // A value task is read once.
        int result = pending.Result;
        End(stripe, started, failed: result == LoadWork.Failed);
        return new ValueTask<int>(result);
    };

    private async ValueTask<int> FinishAsync(ValueTask<int> pending, int stripe, long started)
    {
        bool failed = true;
        try
        {
            int result = await pending;
            failed = result == LoadWork.Failed;
            return result;
        }
        finally
        {
            End(stripe, started, failed);
        }
    }

    private int Begin()
    {
        int stripe = Environment.CurrentManagedThreadId % Stripes;
        Interlocked.Increment(ref _begun[stripe * Pad]);
        return stripe;
    }

    private void End(int stripe, long started, bool failed)
    {
        _latencies[stripe].RecordShared(Clock.Nanoseconds(started, Stopwatch.GetTimestamp()));
        if (failed)
        {
            Interlocked.Increment(ref _errors[stripe * Pad]);
        }

        Interlocked.Increment(ref _ended[stripe * Pad]);
    }

    private static long Sum(long[] stripes)
    {
        long sum = 0;
        for (int i = 0; i < Stripes; i++)
        {
            sum += Volatile.Read(ref stripes[i * Pad]);
        }

        return sum;
    }
}

/// <summary>The state of an arm at one reading.</summary>
/// <param name="Rate">Items per second since the previous reading.</param>
/// <param name="InFlight">Items inside their work.</param>
/// <param name="P50">The median latency of the items of this window.</param>
/// <param name="P99">The 99th percentile of their latency.</param>
/// <param name="Max">The maximum of their latency.</param>
/// <param name="Errors">Items of this window that failed.</param>
internal sealed record WatchReading(double Rate, long InFlight, TimeSpan P50, TimeSpan P99, TimeSpan Max, long Errors);
