using System.Globalization;
using System.Runtime.CompilerServices;

namespace Weir.Dashboard.Letters;

/// <summary>Which items of a queue somebody wants to see, or to act on: the fields of an address or a form.</summary>
internal sealed record LetterFilter
{
    /// <summary>The state of a dead letter, and of the items in a queue, as they stand in addresses.</summary>
    public const string Dead = "dead";

    public static readonly string[] States = [Dead, "waiting", "scheduled", "in-flight"];

    public string State { get; private init; } = Dead;

    public DeadLetterReason? Kind { get; private init; }

    public string Text { get; private init; } = "";

    public DateTimeOffset? From { get; private init; }

    public DateTimeOffset? To { get; init; }

    /// <summary>What could not be read, as a sentence: that field is left out, and nothing may be done to what the filter finds.</summary>
    public string? Complaint { get; private init; }

    public static LetterFilter Read(Func<string, string?> field)
    {
        string? complaint = null;
        return new LetterFilter
        {
            State = State(),
            Kind = Kind(),
            Text = field("text")?.Trim() ?? "",
            From = Time("from"),
            To = Time("to"),
            Complaint = complaint,
        };

        string State()
        {
            string? asked = field("state");
            if (string.IsNullOrEmpty(asked) || States.Contains(asked))
            {
                return string.IsNullOrEmpty(asked) ? Dead : asked;
            }

            complaint = $"state must be one of {string.Join(", ", States)}.";
            return Dead;
        }

        DeadLetterReason? Kind()
        {
            string? asked = field("kind");
            if (string.IsNullOrEmpty(asked))
            {
                return null;
            }

            if (Enum.TryParse(asked, out DeadLetterReason kind) && Enum.GetName(kind) == asked)
            {
                return kind;
            }

            complaint = $"kind must be one of {string.Join(", ", Enum.GetNames<DeadLetterReason>())}.";
            return null;
        }

        DateTimeOffset? Time(string name)
        {
            string? asked = field(name);
            if (string.IsNullOrEmpty(asked))
            {
                return null;
            }

            if (DateTimeOffset.TryParse(asked, CultureInfo.InvariantCulture, DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal, out DateTimeOffset time))
            {
                return time;
            }

            complaint = $"{name} must be a time such as 2026-11-29T14:05, in UTC.";
            return null;
        }
    }
}

/// <summary>A dead letter or a queued item, as the page shows it. Its time is when it became a dead letter, or from when on a worker may get it.</summary>
internal sealed record FoundItem(
    string Id, string State, string? Key, DeadLetterReason? Kind, int Attempt, DateTimeOffset Time, string Error, IReadOnlyDictionary<string, string>? Headers)
{
    /// <summary>What <see cref="WeirDashboardOptions.DescribeItem"/> says of it.</summary>
    public string? Contents { get; init; }

    public bool Has(string text) =>
        Id.Contains(text, StringComparison.OrdinalIgnoreCase)
        || Key?.Contains(text, StringComparison.OrdinalIgnoreCase) == true
        || Error.Contains(text, StringComparison.OrdinalIgnoreCase)
        || Contents?.Contains(text, StringComparison.OrdinalIgnoreCase) == true
        || Headers?.Any(header => $"{header.Key}: {header.Value}".Contains(text, StringComparison.OrdinalIgnoreCase)) == true;
}

/// <summary>What a search has found.</summary>
/// <param name="Shown">The first of them, at most <see cref="MostShown"/>.</param>
/// <param name="Ids">The identities of all.</param>
/// <param name="Read">How many items were looked at.</param>
/// <param name="IsWhole">Whether there were no more to look at.</param>
internal sealed record FoundItems(IReadOnlyList<FoundItem> Shown, IReadOnlyList<string> Ids, int Read, bool IsWhole)
{
    public const int MostShown = 100;
}

/// <summary>Looks through the dead letters of a queue, or its items. It reads at most as many as the options say, and keeps only what it shows.</summary>
internal static class LetterSearch
{
    /// <summary>Searches.</summary>
    /// <param name="queue">The name of the queue, for who describes the contents.</param>
    /// <param name="letters">Its dead letters; null if they cannot be listed.</param>
    /// <param name="items">Its items; null if they cannot be listed.</param>
    /// <param name="filter">What is wanted.</param>
    /// <param name="options">The options of the page.</param>
    /// <param name="cancellationToken">Ends the search.</param>
    public static async Task<FoundItems> FindAsync(
        string queue, IDeadLetters? letters, IQueuedItems? items, LetterFilter filter, WeirDashboardOptions options, CancellationToken cancellationToken)
    {
        List<FoundItem> shown = [];
        List<string> ids = [];
        int read = 0;
        DateTimeOffset now = options.TimeProvider.GetUtcNow();
        IAsyncEnumerable<(FoundItem, ReadOnlyMemory<byte>)> all =
            filter.State == LetterFilter.Dead ? ListAsync(letters, options.MaxSearched, cancellationToken) : ListAsync(items, options.MaxSearched, now, cancellationToken);
        await foreach ((FoundItem found, ReadOnlyMemory<byte> payload) in all.ConfigureAwait(false))
        {
            if (++read > options.MaxSearched)
            {
                return new FoundItems(shown, ids, options.MaxSearched, IsWhole: false);
            }

            if (found.State != filter.State || (filter.Kind is { } kind && found.Kind != kind) || found.Time < filter.From || found.Time > filter.To)
            {
                continue;
            }

            // The contents are asked for only where they are shown or searched.
            bool isShown = shown.Count < FoundItems.MostShown;
            FoundItem item = isShown || filter.Text.Length > 0 ? found with { Contents = Describe(queue, payload, options) } : found;
            if (filter.Text.Length > 0 && !item.Has(filter.Text))
            {
                continue;
            }

            ids.Add(item.Id);
            if (isShown)
            {
                shown.Add(item);
            }
        }

        return new FoundItems(shown, ids, read, IsWhole: true);
    }

    // One more than may be searched, to know whether there are more.
    private static int MostListed(int searched) => searched == int.MaxValue ? searched : searched + 1;

    private static async IAsyncEnumerable<(FoundItem, ReadOnlyMemory<byte>)> ListAsync(
        IDeadLetters? letters, int most, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        if (letters is not null)
        {
            await foreach (DeadLetter letter in letters.ListAsync(MostListed(most), cancellationToken).ConfigureAwait(false))
            {
                yield return (
                    new FoundItem(letter.Id, LetterFilter.Dead, letter.Key, letter.Reason, letter.Attempts, letter.Time, letter.Error, letter.Headers), letter.Payload);
            }
        }
    }

    private static async IAsyncEnumerable<(FoundItem, ReadOnlyMemory<byte>)> ListAsync(
        IQueuedItems? items, int most, DateTimeOffset now, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        if (items is not null)
        {
            await foreach (QueuedItem item in items.ListAsync(MostListed(most), cancellationToken).ConfigureAwait(false))
            {
                string state = item.IsInFlight ? "in-flight" : item.Due > now ? "scheduled" : "waiting";
                yield return (new FoundItem(item.Id, state, item.Key, null, item.Attempt, item.Due, "", item.Headers), item.Payload);
            }
        }
    }

    private static string? Describe(string queue, ReadOnlyMemory<byte> payload, WeirDashboardOptions options)
    {
        try
        {
            return options.DescribeItem?.Invoke(queue, payload);
        }
        catch (Exception e)
        {
            return $"DescribeItem failed: {e.GetType().Name}";
        }
    }
}
