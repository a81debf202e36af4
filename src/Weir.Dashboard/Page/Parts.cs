using Weir.Dashboard.Letters;
using Weir.Observability;

namespace Weir.Dashboard.Page;

/// <summary>What an address asks for: a view, and what to look for in it.</summary>
internal sealed record PageRequest
{
    public static readonly (string View, string Title)[] Views =
        [("overview", "Overview"), ("runs", "Runs"), ("networks", "Networks"), ("policies", "Limits and breakers"), ("queues", "Workers and queues")];

    public required string View { get; init; }

    /// <summary>The entry whose page it is, in the views <c>entry</c> and <c>letters</c>.</summary>
    public required string Id { get; init; }

    /// <summary>A part of the name.</summary>
    public required string Search { get; init; }

    public required string State { get; init; }

    public required LetterFilter Letters { get; init; }

    public static PageRequest Read(Func<string, string?> field)
    {
        string view = field("view") ?? "";
        bool isKnown = view is "entry" or "letters" || Array.Exists(Views, known => known.View == view);
        return new PageRequest
        {
            View = isKnown ? view : "overview",
            Id = field("id") ?? "",
            Search = field("q")?.Trim() ?? "",
            State = field("in") ?? "",
            Letters = LetterFilter.Read(field),
        };
    }
}

/// <summary>What the page needs to draw itself for somebody.</summary>
/// <param name="Request">What is asked for.</param>
/// <param name="Now">What is live.</param>
/// <param name="History">The past of an entry.</param>
/// <param name="Token">Name and value of the anti-forgery field; null for somebody who may not act.</param>
/// <param name="Found">What the search for letters has found, in that view.</param>
/// <param name="Failure">Why it failed, if it did.</param>
internal sealed record PageData(
    PageRequest Request, WeirSnapshot Now, Func<string, IReadOnlyList<LivePoint>> History, (string Name, string Value)? Token, FoundItems? Found, string? Failure);

/// <summary>What the views are made of.</summary>
internal static class Parts
{
    /// <summary>A button that does something to an entry; nothing for who may not act.</summary>
    public static Markup Button(PageData data, string id, string action, string label, string? ask = null, Markup? fields = null)
    {
        if (data.Token is not { } token)
        {
            return new Markup();
        }

        return $"<form method=\"post\" id=\"do-{action}-{id}\"{Ask(ask)}>{Hidden(token.Name, token.Value)}{Hidden("id", id)}{fields ?? new Markup()}<button name=\"do\" value=\"{action}\">{label}</button></form>";
    }

    public static Markup Ask(string? question) => question is null ? new Markup() : $" data-ask=\"{question}\"";

    public static Markup Hidden(string name, string? value) => $"<input type=\"hidden\" name=\"{name}\" value=\"{Markup.Whole(value)}\">";

    public static Markup State(LiveState state) => $"<span class=\"state {Words.Look(state)}\">{Words.State(state)}</span>";

    public static Markup Link(LiveEntry entry) => $"<a href=\"?view=entry&amp;id={entry.Id}\">{Markup.Text(Words.Name(entry))}</a>";

    public static Markup Selected(bool isSelected) => isSelected ? Markup.Own(" selected") : new Markup();

    /// <summary>Begins a table that scrolls in its own box. Whoever calls ends it: <c>&lt;/table&gt;&lt;/div&gt;</c>.</summary>
    public static void AddTable(Markup page, string label, string caption, string[] first, string[] numbers, string[] last)
    {
        page.Add($"<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\"><table><caption>{caption}</caption><tr>");
        foreach (string name in first)
        {
            page.Add($"<th scope=\"col\">{name}</th>");
        }

        foreach (string name in numbers)
        {
            page.Add($"<th scope=\"col\" class=\"number\">{name}</th>");
        }

        foreach (string name in last)
        {
            page.Add($"<th scope=\"col\">{(name.Length > 0 ? name : "Actions")}</th>");
        }

        page.Add($"</tr>");
    }
}
