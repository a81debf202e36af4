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
/// <param name="MayAct">Whether there are buttons.</param>
/// <param name="Token">Name and value of the anti-forgery field of forms; null where the script adds it.</param>
/// <param name="Found">What the search for letters has found, in that view.</param>
/// <param name="Failure">Why it failed, if it did.</param>
internal sealed record PageData(
    PageRequest Request, WeirSnapshot Now, Func<string, IReadOnlyList<LivePoint>> History, bool MayAct, (string Name, string Value)? Token, FoundItems? Found, string? Failure)
{
    private ILookup<string?, LiveEntry>? _blocks;

    /// <summary>The blocks by the id of their network.</summary>
    public ILookup<string?, LiveEntry> Blocks => _blocks ??= Now.Entries.Where(static entry => entry.Kind == LiveKind.Block).ToLookup(static entry => entry.Parent);
}

/// <summary>What the views are made of. Each part writes itself into the page, where its hole stands.</summary>
internal static class Parts
{
    /// <summary>A button that does something to an entry; nothing for who may not act.</summary>
    public static Markup.Written Button(Markup page, PageData data, string id, string action, string label, string? ask = null) => !data.MayAct
        ? default
        : page.Add($"{BeginForm(page, data, id, action, ask)}{EndForm(page, data, action, label)}");

    /// <summary>A button with a number that must be given.</summary>
    public static Markup.Written NumberButton(Markup page, PageData data, string id, string action, string label, string name, long now) => !data.MayAct
        ? default
        : page.Add($"{BeginForm(page, data, id, action, null)}<input type=\"number\" name=\"{action}\" min=\"1\" max=\"2147483647\" required aria-label=\"{name}\" value=\"{now}\">{EndForm(page, data, action, label)}");

    /// <summary>The anti-forgery field of a form, at its end: the script takes it away with the first drawing.</summary>
    public static Markup.Written Token(Markup page, PageData data) => data.Token is { } token ? Hidden(page, token.Name, token.Value) : default;

    public static Markup.Written Hidden(Markup page, string name, string? value) => page.Add($"<input type=\"hidden\" name=\"{name}\" value=\"{page.Whole(value)}\">");

    public static Markup.Written State(Markup page, LiveState state) => page.Add($"<span class=\"state {Words.Look(state)}\">{Words.State(state)}</span>");

    public static Markup.Written Link(Markup page, LiveEntry entry) => page.Add($"<a href=\"?view=entry&amp;id={entry.Id}\">{page.Foreign(Words.Name(entry))}</a>");

    /// <summary>What limits something, in which no line ends between a number and its sign.</summary>
    public static Markup.Written Sentence(Markup page, LiveBottleneck bottleneck) => page.Foreign(bottleneck.Sentence.Replace(" %", "\u00A0%", StringComparison.Ordinal));

    public static Markup.Written Selected(Markup page, bool isSelected) => isSelected ? page.Own(" selected") : default;

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

    private static Markup.Written BeginForm(Markup page, PageData data, string id, string action, string? ask) =>
        page.Add($"<form method=\"post\" id=\"do-{action}-{id}\"{(ask is null ? default : page.Add($" data-ask=\"{ask}\""))}>{Hidden(page, "id", id)}");

    private static Markup.Written EndForm(Markup page, PageData data, string action, string label) =>
        page.Add($"<button name=\"do\" value=\"{action}\">{label}</button>{Token(page, data)}</form>");
}
