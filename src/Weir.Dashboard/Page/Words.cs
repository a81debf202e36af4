using System.Globalization;
using Weir.Observability;

namespace Weir.Dashboard.Page;

/// <summary>Numbers, times and states as the page writes them.</summary>
internal static class Words
{
    /// <summary>A number for people: whole with separators, and short from a hundred thousand on.</summary>
    public static string Number(double value) => value switch
    {
        >= 1e9 => Text(value / 1e9, "#,0.0 G"),
        >= 1e7 => Text(value / 1e6, "0.0 M"),
        >= 1e5 => Text(value / 1e3, "#,0 k"),
        >= 100 => Text(value, "#,0"),
        _ => Text(value, "0.#"),
    };

    public static string Count(long count, string what) =>
        count == 1 ? $"1 {what}" : what.EndsWith('y') ? $"{Number(count)} {what[..^1]}ies" : $"{Number(count)} {what}s";

    public static string Times(long count) => count == 1 ? "once" : Text(count, "0 times");

    public static string Span(TimeSpan span) => span switch
    {
        { TotalDays: >= 2 } => Text(span.TotalDays, "0 days"),
        { TotalMinutes: >= 100 } => $"{(int)span.TotalHours} h {span.Minutes} min",
        { TotalSeconds: >= 100 } => $"{(int)span.TotalMinutes} min {span.Seconds} s",
        { TotalSeconds: >= 10 } => Text(span.TotalSeconds, "0 s"),
        _ => Text(Math.Max(0, span.TotalSeconds), "0.# s"),
    };

    public static string Time(DateTimeOffset time) => time.UtcDateTime.ToString("yyyy-MM-dd HH:mm:ss", CultureInfo.InvariantCulture);

    public static string Share(double share) => Text(Math.Clamp(share, 0, 1) * 100, "0' %'");

    public static string State(LiveState state) => state switch
    {
        LiveState.HalfOpen => "half open",
        _ => state.ToString().ToLowerInvariant(),
    };

    /// <summary>How a state looks: <c>good</c>, <c>warn</c> or <c>bad</c>. It is always written too.</summary>
    public static string Look(LiveState state) => state switch
    {
        LiveState.Running or LiveState.Closed => "good",
        LiveState.Failed or LiveState.Open or LiveState.Isolated => "bad",
        LiveState.Paused or LiveState.Stopping or LiveState.HalfOpen => "warn",
        _ => "soft",
    };

    public static string Name(LiveEntry entry) => entry.Name is { Length: > 0 } name ? name : entry.Id;

    public static string Rate(LiveEntry entry) => (entry.Rate1s ?? entry.Rate) is { } rate ? $"{Number(rate)}/s" : "";

    public static string Budget(LiveBudget budget) =>
        $"{Count((long)budget.Balance, "retry")} saved, {Number(budget.Refused)} refused{(budget.Keys is { } keys ? $", of {Count(keys, "key")}" : "")}";

    public static string Stage(LiveStage stage) =>
        $"{stage.Name}: busy {Share(stage.Busy)}, blocked {Share(stage.Blocked)}, idle {Share(stage.Idle)} of {Count(stage.Workers, "worker")}";

    private static string Text(double value, string format) => value.ToString(format, CultureInfo.InvariantCulture);
}
