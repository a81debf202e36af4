using System.Globalization;
using Weir.Dashboard.Letters;
using Weir.Observability;

namespace Weir.Dashboard.Page;

/// <summary>The dead letters or items of a queue: a filter, what it finds, and what can be done to one or all of it.</summary>
internal static class LettersView
{
    private const int MostContents = 10_000;

    public static void Add(Markup page, PageData data)
    {
        LetterFilter filter = data.Request.Letters;
        if (data.Now.Entries.FirstOrDefault(entry => entry.Id == data.Request.Id) is not { } queue)
        {
            page.BeginSection("letters");
            page.Add($"<h2>{page.Foreign(data.Request.Id)}</h2><p>There is no such queue in this process any more.</p></section>");
            return;
        }

        page.BeginSection("letters");
        page.Add($"<h2>{(filter.State == LetterFilter.Dead ? "Dead letters" : "Items")} of {Parts.Link(page, queue)}</h2>");
        AddFilter(page, queue, filter);
        if ((data.Failure ?? filter.Complaint) is { } trouble)
        {
            page.Add($"<p class=\"bad\">{page.Foreign(trouble)}</p>");
        }

        if (data.Found is { } found)
        {
            AddFound(page, data, queue, found);
        }

        page.Add($"</section>");
    }

    private static void AddFilter(Markup page, LiveEntry queue, LetterFilter filter)
    {
        page.Add($"<form class=\"filter\" id=\"letter-filter\">{Parts.Hidden(page, "view", "letters")}{Parts.Hidden(page, "id", queue.Id)}<label>State<select name=\"state\">");
        foreach (string state in LetterFilter.States)
        {
            bool isPossible = queue.Actions.Contains(state == LetterFilter.Dead ? LiveAction.DeadLetters : LiveAction.Items);
            page.Add($"<option value=\"{state}\"{Parts.Selected(page, filter.State == state)}{(isPossible ? default : page.Own(" disabled"))}>{state}</option>");
        }

        page.Add($"</select></label><label>Kind<select name=\"kind\"><option value=\"\">any</option>");
        foreach (DeadLetterReason kind in Enum.GetValues<DeadLetterReason>())
        {
            page.Add($"<option value=\"{kind.ToString()}\"{Parts.Selected(page, filter.Kind == kind)}>{kind.ToString()}</option>");
        }

        page.Add($"</select></label><label>Text<input name=\"text\" value=\"{page.Whole(filter.Text)}\"></label>");
        page.Add($"<label>From (UTC)<input type=\"datetime-local\" step=\"1\" name=\"from\" value=\"{Field(filter.From)}\"></label><label>To (UTC)<input type=\"datetime-local\" step=\"1\" name=\"to\" value=\"{Field(filter.To)}\"></label><button>Search</button></form>");
    }

    private static void AddFound(Markup page, PageData data, LiveEntry queue, FoundItems found)
    {
        LetterFilter filter = data.Request.Letters;
        bool isDead = filter.State == LetterFilter.Dead;
        string what = isDead ? "dead letter" : "item";
        page.Add($"<p>{(found.Ids.Count > found.Shown.Count ? $"The first {found.Shown.Count} of {Words.Count(found.Ids.Count, what)}" : $"{Words.Count(found.Ids.Count, what)}")} found in {Words.Number(found.Read)} read{(found.IsWhole ? "." : "; there are more, which were not read.")}</p>");
        if (found.Ids.Count == 0)
        {
            return;
        }

        if (isDead && data.MayAct && filter.Complaint is null)
        {
            // What becomes a dead letter after this page was drawn has not been seen by who presses the button.
            string all = Words.Count(found.Ids.Count, "dead letter");
            page.Add($"<form method=\"post\" id=\"all-letters\">{Parts.Hidden(page, "id", queue.Id)}{Parts.Hidden(page, "kind", filter.Kind?.ToString())}{Parts.Hidden(page, "text", filter.Text)}{Parts.Hidden(page, "from", filter.From?.ToString("O", CultureInfo.InvariantCulture))}{Parts.Hidden(page, "to", (filter.To ?? data.Now.Time).ToString("O", CultureInfo.InvariantCulture))}");
            page.Add($"<button name=\"do\" value=\"replay-all\" data-ask=\"Publish {all} again?\">Replay all {found.Ids.Count}</button><button class=\"danger\" name=\"do\" value=\"drop-all\" data-ask=\"Remove {all} for good?\">Drop all {found.Ids.Count}</button>{Parts.Token(page, data)}</form>");
        }

        Parts.AddTable(page, "What was found", isDead ? "The oldest first" : "In the order of the queue", ["Id", "Kind"], ["Attempts"], [isDead ? "Since (UTC)" : "Due (UTC)", "Key", isDead ? "Error and contents" : "Contents", ""]);
        int row = 0;
        foreach (FoundItem item in found.Shown)
        {
            page.Add($"<tr id=\"letter-{row++}\"><td class=\"name\">{page.Foreign(item.Id)}</td><td>{item.Kind?.ToString() ?? item.State}</td><td class=\"number\">{item.Attempt}</td><td>{Words.Time(item.Time)}</td><td class=\"name\">{page.Foreign(item.Key)}</td><td class=\"text\">");
            AddDetails(page, item);
            page.Add($"</td><td>{(isDead ? LetterButtons(page, data, queue, item) : default)}</td></tr>");
        }

        page.Add($"</table></div>");
    }

    private static void AddDetails(Markup page, FoundItem item)
    {
        int end = item.Error.AsSpan().IndexOfAny('\r', '\n');
        page.Foreign(end < 0 ? item.Error : item.Error[..end]);
        if (end >= 0 || item.Error.Length > Markup.MaxText)
        {
            page.Add($"<details><summary>whole error</summary><pre><bdi>{page.Whole(Longest(item.Error))}</bdi></pre></details>");
        }

        if (item.Headers is { Count: > 0 } headers)
        {
            page.Add($"<details><summary>{Words.Count(headers.Count, "header")}</summary><pre><bdi>{page.Whole(Longest(string.Join('\n', headers.Select(static header => $"{header.Key}: {header.Value}"))))}</bdi></pre></details>");
        }

        if (item.Contents is { Length: > 0 } contents)
        {
            page.Add($"<details><summary>contents</summary><pre><bdi>{page.Whole(Longest(contents))}</bdi></pre></details>");
        }
    }

    private static Markup.Written LetterButtons(Markup page, PageData data, LiveEntry queue, FoundItem item) => !data.MayAct
        ? default
        : page.Add($"<form method=\"post\">{Parts.Hidden(page, "id", queue.Id)}{Parts.Hidden(page, "letter", item.Id)}<button name=\"do\" value=\"replay\">Replay</button><button class=\"danger\" name=\"do\" value=\"drop\" data-ask=\"Remove it for good?\">Drop</button>{Parts.Token(page, data)}</form>");

    private static string Field(DateTimeOffset? time) => time?.UtcDateTime.ToString("yyyy-MM-ddTHH:mm:ss", CultureInfo.InvariantCulture) ?? "";

    private static string Longest(string text)
    {
        if (text.Length <= MostContents)
        {
            return text;
        }

        int end = char.IsHighSurrogate(text[MostContents - 1]) ? MostContents - 1 : MostContents;
        return string.Concat(text.AsSpan(0, end), string.Create(CultureInfo.InvariantCulture, $"\n… {text.Length - end:#,0} characters more"));
    }
}
