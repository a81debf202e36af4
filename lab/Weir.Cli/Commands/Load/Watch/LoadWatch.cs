using Spectre.Console;
using Spectre.Console.Rendering;
using Weir.Cli.Kit.Formatting;

namespace Weir.Cli.Commands.Load.Watch;

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
