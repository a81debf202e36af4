using System.Globalization;
using Weir.Dashboard.Letters;
using Weir.Dashboard.Page;
using Weir.Observability;
using Weir.Resilience;

namespace Weir.Dashboard;

/// <summary>What became of an action: a sentence, and whether it was done.</summary>
internal readonly record struct ActionResult(bool IsDone, string Sentence);

/// <summary>Does what a form of the page asks for. Who may do it was checked before; each is logged by whoever calls.</summary>
internal static class PageActions
{
    /// <summary>How many letters are replayed or removed in one call. What was done before a failure stays done.</summary>
    private const int LettersAtOnce = 100;

    public static async Task<ActionResult> DoAsync(string what, string id, Func<string, string?> field, WeirDashboardOptions options, CancellationToken cancellationToken) => what switch
    {
        "pause" => With<RunControl>(id, static control => control.Pause(), "paused"),
        "resume" => With<RunControl>(id, static control => control.Resume(), "resumed"),
        "stop" => With<RunControl>(id, static control => control.Stop(), "asked to stop"),
        "limit" => SetLimit(id, field("limit")),
        "isolate" => With<CircuitBreaker>(id, static breaker => breaker.Isolate(), "open until it is closed"),
        "close" => With<CircuitBreaker>(id, static breaker => breaker.Close(), "closed"),
        "replay" or "drop" when field("letter") is { Length: > 0 } letter => await LettersAsync(what, id, [letter], cancellationToken).ConfigureAwait(false),
        "replay-all" or "drop-all" => await FilteredLettersAsync(what, id, field, options, cancellationToken).ConfigureAwait(false),
        _ => new ActionResult(false, "There is no such action."),
    };

    private static ActionResult With<T>(string id, Action<T> action, string done)
        where T : class
    {
        if (WeirDiagnostics.Find<T>(id) is not { } target)
        {
            return Gone(id);
        }

        action(target);
        return new ActionResult(true, $"{id} is {done}.");
    }

    private static ActionResult SetLimit(string id, string? written)
    {
        if (!int.TryParse(written, NumberStyles.None, CultureInfo.InvariantCulture, out int limit) || limit < 1)
        {
            return new ActionResult(false, $"limit must be a whole number from 1 to {int.MaxValue}.");
        }

        return WeirDiagnostics.Find<RunControl>(id) is not null
            ? With<RunControl>(id, control => control.MaxDegreeOfParallelism = limit, $"limited to {limit}")
            : With<SharedConcurrencyLimit>(id, shared => shared.Limit = limit, $"limited to {limit}");
    }

    private static async Task<ActionResult> FilteredLettersAsync(
        string what, string id, Func<string, string?> field, WeirDashboardOptions options, CancellationToken cancellationToken)
    {
        LetterFilter filter = LetterFilter.Read(field);
        if (filter.Complaint is { } complaint)
        {
            return new ActionResult(false, complaint);
        }

        // Not what came after the page was drawn, which nobody has seen.
        if (filter.To is null || filter.State != LetterFilter.Dead)
        {
            return new ActionResult(false, "to must be the time up to which the letters were seen.");
        }

        if (WeirDiagnostics.Find<IDeadLetters>(id) is not { } letters)
        {
            return Gone(id);
        }

        FoundItems found = await LetterSearch.FindAsync(id, letters, null, filter, options, cancellationToken).ConfigureAwait(false);
        return await LettersAsync(what, id, found.Ids, cancellationToken).ConfigureAwait(false);
    }

    private static async Task<ActionResult> LettersAsync(string what, string id, IReadOnlyList<string> ids, CancellationToken cancellationToken)
    {
        if (WeirDiagnostics.Find<IDeadLetters>(id) is not { } letters)
        {
            return Gone(id);
        }

        bool isReplay = what.StartsWith("replay", StringComparison.Ordinal);
        int done = 0;
        try
        {
            foreach (string[] some in ids.Chunk(LettersAtOnce))
            {
                done += isReplay
                    ? await letters.ReplayAsync(some, cancellationToken).ConfigureAwait(false)
                    : await letters.RemoveAsync(some, cancellationToken).ConfigureAwait(false);
            }
        }
        catch (Exception e) when (e is not OperationCanceledException || !cancellationToken.IsCancellationRequested)
        {
            return new ActionResult(false, $"{Said(done)}, then it failed: {e.GetType().Name}: {e.Message}");
        }

        return new ActionResult(true, $"{Said(done)}.{(done < ids.Count ? $" {Words.Count(ids.Count - done, "other")} of {ids.Count} had gone meanwhile." : "")}");

        string Said(int number) => $"{Words.Count(number, "dead letter")} {(isReplay ? "published again" : "removed")}";
    }

    private static ActionResult Gone(string id) => new(false, $"{id} is not live any more, or has no such action.");
}
