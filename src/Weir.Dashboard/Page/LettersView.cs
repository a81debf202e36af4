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
            page.Add($"<section id=\"letters\"><h2>{Markup.Text(data.Request.Id)}</h2><p>There is no such queue in this process any more.</p></section>");
            return;
        }

        page.Add($"<section id=\"letters\"><h2>{(filter.State == LetterFilter.Dead ? "Dead letters" : "Items")} of {Parts.Link(queue)}</h2>");
        AddFilter(page, queue, filter);
        if ((data.Failure ?? filter.Complaint) is { } trouble)
        {
            page.Add($"<p class=\"bad\">{Markup.Text(trouble)}</p>");
        }

        if (data.Found is { } found)
        {
            AddFound(page, data, queue, found);
        }

        page.Add($"</section>");
    }

    private static void AddFilter(Markup page, LiveEntry queue, LetterFilter filter)
    {
        page.Add($"<form class=\"filter\" id=\"letter-filter\">{Parts.Hidden("view", "letters")}{Parts.Hidden("id", queue.Id)}<label>State<select name=\"state\">");
        foreach (string state in LetterFilter.States)
        {
            bool isPossible = queue.Actions.Contains(state == LetterFilter.Dead ? LiveAction.DeadLetters : LiveAction.Items);
            page.Add($"<option value=\"{state}\"{Parts.Selected(filter.State == state)}{(isPossible ? new Markup() : Markup.Own(" disabled"))}>{state}</option>");
        }

        page.Add($"</select></label><label>Kind<select name=\"kind\"><option value=\"\">any</option>");
        foreach (DeadLetterReason kind in Enum.GetValues<DeadLetterReason>())
        {
            page.Add($"<option value=\"{kind.ToString()}\"{Parts.Selected(filter.Kind == kind)}>{kind.ToString()}</option>");
        }

        page.Add($"</select></label><label>Text<input name=\"text\" value=\"{Markup.Whole(filter.Text)}\"></label>");
        page.Add($"<label>From (UTC)<input type=\"datetime-local\" step=\"1\" name=\"from\" value=\"{Field(filter.From)}\"></label><label>To (UTC)<input type=\"datetime-local\" step=\"1\" name=\"to\" value=\"{Field(filter.To)}\"></label><button>Search</button></form>");
    }

    private static void AddFound(Markup page, PageData data, LiveEntry queue, FoundItems found)
    {
        LetterFilter filter = data.Request.Letters;
        bool isDead = filter.State == LetterFilter.Dead;
        string what = isDead ? "dead letter" : "item";
        page.Add($"<p>{(found.Ids.Count > found.Shown.Count ? $"The first {found.Shown.Count} of {Words.Count(found.Ids.Count, what)}" : $"{Words.Count(found.Ids.Count, what)}")} found in {Words.Number(found.Read)} that were looked at{(found.IsWhole ? "." : "; there are more, which were not looked at.")}</p>");
        if (found.Ids.Count == 0)
        {
            return;
        }

        if (isDead && data.Token is { } token && filter.Complaint is null)
        {
            // What becomes a dead letter after this page was drawn has not been seen by who presses the button.
            Markup fields = $"{Parts.Hidden(token.Name, token.Value)}{Parts.Hidden("id", queue.Id)}{Parts.Hidden("kind", filter.Kind?.ToString())}{Parts.Hidden("text", filter.Text)}{Parts.Hidden("from", filter.From?.ToString("O", CultureInfo.InvariantCulture))}{Parts.Hidden("to", (filter.To ?? data.Now.Time).ToString("O", CultureInfo.InvariantCulture))}";
            string all = Words.Count(found.Ids.Count, "dead letter");
            page.Add($"<form method=\"post\" id=\"all-letters\">{fields}<button name=\"do\" value=\"replay-all\" data-ask=\"Publish {all} again?\">Replay all {found.Ids.Count}</button><button class=\"danger\" name=\"do\" value=\"drop-all\" data-ask=\"Remove {all} for good?\">Drop all {found.Ids.Count}</button></form>");
        }

        Parts.AddTable(page, "What was found", isDead ? "The oldest first" : "In the order of the queue", ["Id", "Kind"], ["Attempts"], [isDead ? "Since (UTC)" : "Due (UTC)", "Key", isDead ? "Error and contents" : "Contents", ""]);
        int row = 0;
        foreach (FoundItem item in found.Shown)
        {
            page.Add($"<tr id=\"letter-{row++}\"><td class=\"name\">{Markup.Text(item.Id)}</td><td>{item.Kind?.ToString() ?? item.State}</td><td class=\"number\">{item.Attempt}</td><td>{Words.Time(item.Time)}</td><td class=\"name\">{Markup.Text(item.Key)}</td><td class=\"text\">");
            AddDetails(page, item);
            page.Add($"</td><td>{(isDead ? LetterButtons(data, queue, item) : new Markup())}</td></tr>");
        }

        page.Add($"</table></div>");
    }

    private static void AddDetails(Markup page, FoundItem item)
    {
        int end = item.Error.AsSpan().IndexOfAny('\r', '\n');
        page.Add(Markup.Text(end < 0 ? item.Error : item.Error[..end]));
        if (end >= 0 || item.Error.Length > Markup.MaxText)
        {
            page.Add($"<details><summary>whole error</summary><pre><bdi>{Markup.Whole(Longest(item.Error))}</bdi></pre></details>");
        }

        if (item.Headers is { Count: > 0 } headers)
        {
            page.Add($"<details><summary>{Words.Count(headers.Count, "header")}</summary><pre><bdi>{Markup.Whole(Longest(string.Join('\n', headers.Select(static header => $"{header.Key}: {header.Value}"))))}</bdi></pre></details>");
        }

        if (item.Contents is { Length: > 0 } contents)
        {
            page.Add($"<details><summary>contents</summary><pre><bdi>{Markup.Whole(Longest(contents))}</bdi></pre></details>");
        }
    }

    private static Markup LetterButtons(PageData data, LiveEntry queue, FoundItem item) => data.Token is not { } token
        ? new Markup()
        : $"<form method=\"post\">{Parts.Hidden(token.Name, token.Value)}{Parts.Hidden("id", queue.Id)}{Parts.Hidden("letter", item.Id)}<button name=\"do\" value=\"replay\">Replay</button><button class=\"danger\" name=\"do\" value=\"drop\" data-ask=\"Remove it for good?\">Drop</button></form>";

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
