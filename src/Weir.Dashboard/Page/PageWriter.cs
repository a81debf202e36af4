using System.Globalization;
using System.Reflection;
using Weir.Dashboard.Letters;
using Weir.Observability;

namespace Weir.Dashboard.Page;

/// <summary>Writes the page. The same code draws it whole and draws its live part again, so both look the same, and a browser without script has all of it.</summary>
/// <remarks>All of it is at one address; links and forms have only queries, so it does not matter under which path a proxy shows it.</remarks>
internal static class PageWriter
{
    private const int MostRows = 100;
    private static readonly string Style = Resource("page.css");
    private static readonly string Script = Resource("page.js");

    public static Markup Document(PageData data, string title, string nonce, string? result)
    {
        Markup page = new();
        page.Add($"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"robots\" content=\"noindex\">");
        page.Add($"<title>{title} – Weir</title><link rel=\"icon\" href=\"data:,\"><style nonce=\"{nonce}\">{page.Own(Style)}</style></head><body><a class=\"skip\" href=\"#live\">To the contents</a>");
        page.Add($"<header><h1>{page.Foreign(title)}</h1><nav aria-label=\"Views\">");
        foreach ((string view, string name) in PageRequest.Views)
        {
            page.Add($"<a href=\"?view={view}\"{(view == data.Request.View ? page.Own(" aria-current=\"page\"") : default)}>{name}</a>");
        }

        page.Add($"</nav><span id=\"connection\" role=\"status\">Drawn {Words.Time(data.Now.Time)} UTC <label class=\"inline\" hidden><input type=\"checkbox\" id=\"hold\"> hold still</label></span></header>");
        page.Add($"<main><p class=\"result\" id=\"result\" role=\"status\"{(result is null ? page.Own(" hidden") : default)}>{result}</p><div id=\"live\">{Live(page, data)}</div></main>");
        page.Add($"<script nonce=\"{nonce}\">{page.Own(Script)}</script></body></html>\n");
        return page;
    }

    /// <summary>The part that changes: sections, and nothing else.</summary>
    public static Markup.Written Live(Markup page, PageData data)
    {
        switch (data.Request.View)
        {
            case "runs":
                AddRuns(page, data, MostRows);
                break;
            case "networks":
                AddNetworks(page, data, 50);
                break;
            case "policies":
                AddPolicies(page, data, MostRows);
                break;
            case "queues":
                AddHosts(page, data, MostRows);
                break;
            case "entry":
                AddEntry(page, data);
                break;
            case "letters":
                LettersView.Add(page, data);
                break;
            default:
                AddOverview(page, data);
                break;
        }

        return default;
    }

    private static void AddOverview(Markup page, PageData data)
    {
        IReadOnlyList<LiveEntry> all = data.Now.Entries;
        List<LiveEntry> runs = [.. all.Where(static entry => entry.Kind == LiveKind.Run)];
        long letters = all.Where(static entry => entry.Kind == LiveKind.Queue).Sum(static entry => entry.Queue?.DeadLetters ?? 0);
        int open = all.Count(IsOpen);
        int breakers = all.Count(static entry => entry.Kind == LiveKind.Breaker);
        List<LiveEntry> limited = [.. all.Where(static entry => entry.Bottleneck is not null)];
        page.BeginSection("now");
        page.Add($"<h2>Now</h2><p class=\"answer {(limited.Count + open == 0 ? "calm" : "")}\">");
        page.Add($"{Words.Count(runs.Count, "run")} with {Words.Number(runs.Sum(static run => run.Rate1s ?? run.Rate ?? 0))} items a second; ");
        int networks = all.Count(static entry => entry.Kind == LiveKind.Network);
        page.Add($"{(networks == 0 ? "no blocks" : $"{Words.Count(all.Count(static entry => entry.Kind == LiveKind.Block), "block")} in {Words.Count(networks, "network")}")}; ");
        page.Add($"{(breakers == 0 ? "no circuit breaker" : $"{open} of {Words.Count(breakers, "circuit")} open")}; {Words.Count(letters, "dead letter")}.</p>");
        foreach (LiveEntry entry in limited.Take(5))
        {
            page.Add($"<p id=\"why-{entry.Id}\">{Parts.Link(page, entry)}: {Parts.Sentence(page, entry.Bottleneck!)}</p>");
        }

        page.Add($"</section>");
        AddRuns(page, data, 20);
        AddNetworks(page, data, 3);
        AddPolicies(page, data, 20);
        AddHosts(page, data, 20);
    }

    private static bool IsOpen(LiveEntry entry) =>
        entry.Kind == LiveKind.Breaker && (entry.State is LiveState.Open or LiveState.Isolated || entry.Circuits is { Open: > 0 });

    private static void AddRuns(Markup page, PageData data, int most)
    {
        List<LiveEntry> runs = [.. data.Now.Entries.Where(static entry => entry.Kind is LiveKind.Run or LiveKind.Runtime)];
        List<LiveEntry> found = [.. runs.Where(entry => Matches(entry, data.Request))];
        page.BeginSection("runs");
        page.Add($"<h2>Runs</h2>");
        if (data.Request.View == "runs")
        {
            AddFilter(page, data.Request, [LiveState.Running, LiveState.Paused, LiveState.Stopping]);
        }

        if (found.Count == 0)
        {
            page.Add($"<p class=\"soft\">{(runs.Count == 0 ? "Nothing runs now." : $"None of {Words.Count(runs.Count, "run")} matches.")}</p></section>");
            return;
        }

        Parts.AddTable(page, "Runs", RunsShown(found, most, runs), ["State", "Name"], ["Done", "Failed", "Retried", "In flight", "Waiting", "Limit", "Rate"], ["Last hour", "End", ""]);
        foreach (LiveEntry run in found.OrderByDescending(static run => run.Rate1s ?? run.Rate ?? -1).ThenBy(static run => run.Since).Take(most))
        {
            page.Add($"<tr id=\"row-{run.Id}\"><td>{Parts.State(page, run.State)}</td><td class=\"name\">{Parts.Link(page, run)}</td>{Numbers(page, run.Done, run.Failed, run.Retried, run.InFlight, run.Waiting, run.Limit)}<td class=\"number\">{Words.Rate(run)}</td>");
            page.Add($"<td>{Drawings.Sparkline(page, run.Kind, data.History(run.Id))}</td><td>{End(run, data.Now.Time)}</td><td>{PauseButton(page, data, run)}</td></tr>");
        }

        page.Add($"</table></div></section>");
    }

    private static void AddNetworks(Markup page, PageData data, int most)
    {
        List<LiveEntry> networks = [.. data.Now.Entries.Where(static entry => entry.Kind == LiveKind.Network)];
        page.BeginSection("networks");
        page.Add($"<h2>Networks of blocks</h2>");
        if (networks.Count == 0)
        {
            page.Add($"<p class=\"soft\">There are no blocks now.</p>");
        }

        foreach (LiveEntry network in networks.Take(most))
        {
            AddNetwork(page, data, network);
        }

        if (networks.Count > most)
        {
            page.Add($"<p><a href=\"?view=networks\">{most} of {networks.Count} networks are shown.</a></p>");
        }

        page.Add($"</section>");
    }

    private static void AddNetwork(Markup page, PageData data, LiveEntry network)
    {
        List<LiveEntry> blocks = [.. data.Blocks[network.Id]];
        Dictionary<string, LiveStage> stages = (network.Stages ?? []).Where(static stage => stage.Id is not null).ToDictionary(static stage => stage.Id!);
        page.Add($"<div id=\"net-{network.Id}\"><h3>{Parts.Link(page, network)} {Parts.State(page, network.State)}</h3>");
        if (network.Bottleneck is { } bottleneck)
        {
            page.Add($"<p class=\"answer\">{Parts.Sentence(page, bottleneck)}</p>");
        }

        if (blocks.Count > 0)
        {
            page.Add($"<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Picture of the network\">{Drawings.Network(page, network, blocks, stages)}</div>");
            page.Add($"<p class=\"soft\">In each block: how much of its bound waits, and below it the share of time in which it works.</p>");
            page.Add($"<details id=\"table-{network.Id}\"><summary>{Words.Count(blocks.Count, "block")} as a table</summary>");
            Parts.AddTable(page, "Blocks", $"{Words.Count(blocks.Count, "block")} of {Words.Name(network)}", ["State", "Name"], ["Done", "Failed", "In flight", "Waiting", "Capacity", "Output", "Rate"], ["Time", "Feeds"]);
            Dictionary<string, LiveEntry> byId = blocks.ToDictionary(static block => block.Id);
            foreach (LiveEntry block in blocks)
            {
                page.Add($"<tr id=\"row-{block.Id}\"><td>{Parts.State(page, block.State)}</td><td class=\"name\">{Parts.Link(page, block)}</td>{Numbers(page, block.Done, block.Failed, block.InFlight, block.Waiting, block.Capacity, block.Output)}<td class=\"number\">{Words.Rate(block)}</td>");
                page.Add($"<td>{(stages.TryGetValue(block.Id, out LiveStage? stage) ? Drawings.Shares(page, stage) : default)}</td><td class=\"name\">{page.Foreign(string.Join(", ", (block.Feeds ?? []).Where(byId.ContainsKey).Select(id => Words.Name(byId[id]))))}</td></tr>");
            }

            page.Add($"</table></div></details>");
        }

        page.Add($"</div>");
    }

    private static void AddPolicies(Markup page, PageData data, int most)
    {
        List<LiveEntry> all = [.. data.Now.Entries.Where(static entry => entry.Kind is LiveKind.Limit or LiveKind.RateLimit or LiveKind.Breaker or LiveKind.RetryBudget)];
        List<LiveEntry> found = [.. all.Where(entry => Matches(entry, data.Request))];
        page.BeginSection("policies");
        page.Add($"<h2>Limits and circuit breakers</h2>");
        if (data.Request.View == "policies")
        {
            AddFilter(page, data.Request, [LiveState.Running, LiveState.Closed, LiveState.HalfOpen, LiveState.Open, LiveState.Isolated]);
        }

        if (found.Count == 0)
        {
            page.Add($"<p class=\"soft\">{(all.Count == 0 ? "There are no shared limits or breakers." : $"None of {all.Count} matches.")}</p></section>");
            return;
        }

        Parts.AddTable(page, "Limits and circuit breakers", Shown(found.Count, most, all.Count, "policy"), ["State", "Name", "Kind"], ["In use", "Waiting", "Limit"], ["Last hour", "Last error", ""]);
        foreach (LiveEntry policy in found.OrderByDescending(IsOpen).ThenByDescending(static policy => policy.Waiting ?? 0).Take(most))
        {
            IReadOnlyList<LivePoint> past = data.History(policy.Id);
            page.Add($"<tr id=\"row-{policy.Id}\"><td>{Parts.State(page, policy.State)}</td><td class=\"name\">{Parts.Link(page, policy)}</td><td>{policy.Type}{Circuits(page, policy)}</td>{Numbers(page, policy.InFlight, policy.Waiting, policy.Limit)}");
            page.Add($"<td>{(policy.Budget is { } budget ? page.Add($"{Words.Budget(budget)}") : policy.Kind == LiveKind.Breaker ? Drawings.States(page, policy, data.Now.Time, past) : Drawings.Sparkline(page, policy.Kind, past))}</td><td class=\"text\">{Error(page, policy)}</td><td>{CircuitButtons(page, data, policy)}</td></tr>");
        }

        page.Add($"</table></div></section>");
    }

    private static void AddHosts(Markup page, PageData data, int most)
    {
        List<LiveEntry> hosts = [.. data.Now.Entries.Where(static entry => entry.Kind == LiveKind.Host)];
        List<LiveEntry> queues = [.. data.Now.Entries.Where(static entry => entry.Kind == LiveKind.Queue)];
        page.BeginSection("hosts");
        page.Add($"<h2>Workers</h2>");
        if (hosts.Count == 0)
        {
            page.Add($"<p class=\"soft\">There are no workers over queues.</p>");
        }
        else
        {
            Parts.AddTable(page, "Workers", Shown(hosts.Count, most, hosts.Count, "worker"), ["State", "Name"], ["Done", "Failed", "Retried", "In flight", "Dead letters", "Rate"], ["Last hour", "Last error", ""]);
            foreach (LiveEntry host in hosts.Take(most))
            {
                page.Add($"<tr id=\"row-{host.Id}\"><td>{Parts.State(page, host.State)}</td><td class=\"name\">{Parts.Link(page, host)}</td>{Numbers(page, host.Done, host.Failed, host.Retried, host.InFlight, host.Queue?.DeadLetters)}<td class=\"number\">{Words.Rate(host)}</td>");
                page.Add($"<td>{Drawings.Sparkline(page, host.Kind, data.History(host.Id))}</td><td class=\"text\">{Error(page, host)}</td><td>{LettersLink(page, host)}{PauseButton(page, data, host)}</td></tr>");
            }

            page.Add($"</table></div>");
        }

        page.Add($"</section>");
        page.BeginSection("queues");
        page.Add($"<h2>Queues</h2>");
        if (queues.Count == 0)
        {
            page.Add($"<p class=\"soft\">No queue is measured. <code>AddWeirGauges</code> of Weir.Hosting, or <code>WorkGauges.Start</code>, has them measured.</p>");
        }
        else
        {
            Parts.AddTable(page, "Queues", Shown(queues.Count, most, queues.Count, "queue"), ["State", "Name"], ["Backlog", "Scheduled", "In flight", "Dead letters", "Oldest"], ["Last hour", "Last error", ""]);
            foreach (LiveEntry queue in queues.Take(most))
            {
                page.Add($"<tr id=\"row-{queue.Id}\"><td>{Parts.State(page, queue.State)}</td><td class=\"name\">{Parts.Link(page, queue)}</td>{Numbers(page, queue.Queue?.Backlog, queue.Queue?.Scheduled, queue.Queue?.InFlight, queue.Queue?.DeadLetters)}");
                page.Add($"<td class=\"number\">{Oldest(queue)}</td><td>{Drawings.Sparkline(page, queue.Kind, data.History(queue.Id))}</td><td class=\"text\">{Error(page, queue)}</td><td>{LettersLink(page, queue)}</td></tr>");
            }

            page.Add($"</table></div>");
        }

        page.Add($"</section>");
    }

    private static void AddEntry(Markup page, PageData data)
    {
        if (data.Now.Entries.FirstOrDefault(entry => entry.Id == data.Request.Id) is not { } entry)
        {
            page.BeginSection("entry");
            page.Add($"<h2>{page.Foreign(data.Request.Id)}</h2><p>It is not live any more, or never was in this process.</p></section>");
            return;
        }

        page.BeginSection("entry");
        page.Add($"<h2>{page.Foreign(Words.Name(entry))} {Parts.State(page, entry.State)}</h2>");
        if (entry.Bottleneck is { } bottleneck)
        {
            page.Add($"<p class=\"answer\">{Parts.Sentence(page, bottleneck)}</p>");
        }

        // A network and a retry budget have nothing that can be drawn over time.
        if (entry.Kind is not (LiveKind.RetryBudget or LiveKind.Network))
        {
            IReadOnlyList<LivePoint> past = data.History(entry.Id);
            page.Add($"<p>{(entry.Kind == LiveKind.Breaker ? Drawings.States(page, entry, data.Now.Time, past, isLarge: true) : Drawings.Sparkline(page, entry.Kind, past, isLarge: true))}</p>");
        }

        page.Add($"<div>{Buttons(page, data, entry)} {LettersLink(page, entry)}</div>");
        Parts.AddTable(page, "Values", "All that is known of it", ["What", "Value"], [], []);
        foreach ((string what, string? value) in Values(entry, data.Now))
        {
            if (!string.IsNullOrEmpty(value))
            {
                page.Add($"<tr><th scope=\"row\">{what}</th><td class=\"text\">{page.Foreign(value)}</td></tr>");
            }
        }

        page.Add($"</table></div>");
        foreach (LiveStage stage in entry.Stages ?? [])
        {
            page.Add($"<p>{Drawings.Shares(page, stage, 240)} {page.Foreign(Words.Stage(stage))}</p>");
        }

        if (entry.Kind == LiveKind.Network)
        {
            AddNetwork(page, data, entry);
        }

        page.Add($"</section>");
    }

    private static IEnumerable<(string What, string? Value)> Values(LiveEntry entry, WeirSnapshot now)
    {
        yield return ("Id", entry.Id);
        yield return ("Kind", $"{entry.Kind}, {entry.Type}");
        yield return ("Since", entry.Since is { } since ? $"{Words.Time(since)} UTC, {Words.Span(now.Time - since)} ago" : null);
        yield return ("Part of", entry.Parent);
        yield return ("Done", Whole(entry.Done));
        yield return ("Failed", Whole(entry.Failed));
        yield return ("Cancelled", Whole(entry.Cancelled));
        yield return ("Retried", Whole(entry.Retried));
        yield return ("In flight", Whole(entry.InFlight));
        yield return ("Waiting", Whole(entry.Waiting) + (entry.Waits is { } waits
            ? $" (retry {waits.Retry}, circuit breaker {waits.CircuitBreaker}, concurrency limit {waits.ConcurrencyLimit}, rate limit {waits.RateLimit})" : ""));
        yield return ("Output", Whole(entry.Output));
        yield return ("Limit", Whole(entry.Limit));
        yield return ("Capacity", Whole(entry.Capacity));
        yield return ("Total", Whole(entry.Total));
        yield return ("Batches", Whole(entry.Batches));
        yield return ("Backlog", Whole(entry.Queue?.Backlog));
        yield return ("Scheduled", Whole(entry.Queue?.Scheduled));
        yield return ("With consumers", Whole(entry.Queue?.InFlight));
        yield return ("Dead letters", Whole(entry.Queue?.DeadLetters));
        yield return ("Oldest", Oldest(entry));
        yield return ("Rate since the start", PerSecond(entry.Rate));
        yield return ("Rate of the last second", PerSecond(entry.Rate1s));
        yield return ("Rate of the last minute", PerSecond(entry.Rate1m));
        yield return ("End", entry.EstimatedEnd is { } end ? $"about {Words.Time(end)} UTC, in {Words.Span(end - now.Time)}" : null);
        yield return ("Circuits", entry.Circuits is { } circuits ? $"{circuits.Closed} closed, {circuits.HalfOpen} half open, {circuits.Open} open" : null);
        yield return ("Opened", entry.Opened is { } opened ? Words.Times(opened) : null);
        yield return ("Retry budget", entry.Budget is { } budget ? Words.Budget(budget) : null);
        yield return ("Retries allowed", entry.Budget is { } allowed
            ? $"{Words.Share(allowed.Ratio)} of the calls, and {Words.Count(allowed.MinPerSecond, "retry")} a second in any case{(allowed.Keys is null ? "" : ", for each key")}" : null);
        yield return ("Last error", entry.LastError is { } error ? $"{error.Type}: {error.Message}" : null);

        static string? Whole(long? number) => number?.ToString("#,0", CultureInfo.InvariantCulture);
        static string? PerSecond(double? rate) => rate is { } known ? $"{Words.Number(known)} a second" : null;
    }

    private static bool Matches(LiveEntry entry, PageRequest request) =>
        request.View is not ("runs" or "policies")
        || ((request.Search.Length == 0 || Words.Name(entry).Contains(request.Search, StringComparison.OrdinalIgnoreCase)
            || entry.Type.Contains(request.Search, StringComparison.OrdinalIgnoreCase))
            && (request.State.Length == 0 || entry.State.ToString() == request.State));

    private static void AddFilter(Markup page, PageRequest request, LiveState[] states)
    {
        page.Add($"<form class=\"filter\" id=\"filter\">{Parts.Hidden(page, "view", request.View)}<label>Name or type<input name=\"q\" value=\"{request.Search}\"></label><label>State<select name=\"in\"><option value=\"\">any</option>");
        foreach (LiveState state in states)
        {
            page.Add($"<option value=\"{state.ToString()}\"{Parts.Selected(page, request.State == state.ToString())}>{Words.State(state)}</option>");
        }

        page.Add($"</select></label><button>Search</button></form>");
    }

    private static string Shown(int found, int most, int all, string what) => found > most
        ? $"{most} of {Words.Count(found, what)}, those with the most to do; search for others"
        : found < all ? $"{found} of {Words.Count(all, what)}" : Words.Count(found, what);

    private static string RunsShown(List<LiveEntry> found, int most, List<LiveEntry> all)
    {
        int runtimes = all.Count(static entry => entry.Kind == LiveKind.Runtime);
        string both = $"{Words.Count(all.Count - runtimes, "run")} and {Words.Count(runtimes, "runtime")}";
        return runtimes == 0 ? Shown(found.Count, most, all.Count, "run")
            : found.Count > most ? $"{most} of {Words.Number(found.Count)} runs and runtimes, those with the most to do; search for others"
            : found.Count < all.Count ? $"{found.Count} of {both}" : both;
    }

    private static string Oldest(LiveEntry queue) => queue.Queue?.OldestSeconds is { } seconds ? Words.Span(TimeSpan.FromSeconds(seconds)) : "";

    private static Markup.Written Numbers(Markup page, params ReadOnlySpan<long?> numbers)
    {
        foreach (long? number in numbers)
        {
            page.Add($"<td class=\"number\">{(number is { } known ? Words.Number(known) : "")}</td>");
        }

        return default;
    }

    private static Markup.Written Circuits(Markup page, LiveEntry policy) => policy.Circuits is { } circuits
        ? page.Add($" <span class=\"soft\">{circuits.Closed} closed, {circuits.HalfOpen} half open, {circuits.Open} open</span>") : default;

    private static string End(LiveEntry run, DateTimeOffset now) => run.Percent is not { } percent
        ? ""
        : run.EstimatedEnd is { } end ? $"{Words.Share(percent / 100)}, in {Words.Span(end - now)}" : Words.Share(percent / 100);

    private static Markup.Written Error(Markup page, LiveEntry entry) => entry.LastError is { } error ? page.Foreign($"{error.Type}: {error.Message}") : default;

    private static Markup.Written LettersLink(Markup page, LiveEntry entry) => entry.Actions.Contains(LiveAction.DeadLetters)
        ? page.Add($"<a href=\"?view=letters&amp;id={entry.Id}\">dead letters</a> ")
        : entry.Actions.Contains(LiveAction.Items) ? page.Add($"<a href=\"?view=letters&amp;id={entry.Id}&amp;state=waiting\">items</a> ") : default;

    /// <summary>All that can be done with an entry, but for its letters.</summary>
    private static Markup.Written Buttons(Markup page, PageData data, LiveEntry entry)
    {
        PauseButton(page, data, entry);
        if (entry.Actions.Contains(LiveAction.SetLimit))
        {
            Parts.NumberButton(page, data, entry.Id, "limit", "Set limit", $"New limit of {Words.Name(entry)}", entry.Limit ?? 1);
        }

        if (entry.Actions.Contains(LiveAction.Stop))
        {
            Parts.Button(page, data, entry.Id, "stop", "Stop gracefully", "Stop it? What has begun ends, and nothing else begins. This cannot be taken back.");
        }

        return CircuitButtons(page, data, entry);
    }

    private static Markup.Written PauseButton(Markup page, PageData data, LiveEntry entry) => !entry.Actions.Contains(LiveAction.Pause)
        ? default
        : entry.State == LiveState.Paused ? Parts.Button(page, data, entry.Id, "resume", "Resume") : Parts.Button(page, data, entry.Id, "pause", "Pause");

    private static Markup.Written CircuitButtons(Markup page, PageData data, LiveEntry entry)
    {
        if (entry.Actions.Contains(LiveAction.Open) && entry.State != LiveState.Isolated)
        {
            Parts.Button(page, data, entry.Id, "isolate", "Open", "Open it? All calls are refused until it is closed again.");
        }

        return entry.Actions.Contains(LiveAction.Close) && entry.State != LiveState.Closed ? Parts.Button(page, data, entry.Id, "close", "Close") : default;
    }

    private static string Resource(string name)
    {
        using var reader = new StreamReader(Assembly.GetExecutingAssembly().GetManifestResourceStream(name)!);
        return reader.ReadToEnd();
    }
}
