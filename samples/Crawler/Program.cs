using System.Text.RegularExpressions;
using Crawler;
using Weir;
using Weir.Http;
using Weir.Resilience;

int pages = args.Length > 0 ? int.Parse(args[0]) : 60;
string file = args.Length > 1 ? args[1] : Path.Combine(Path.GetTempPath(), "crawled.txt");

await using Site site = await Site.StartAsync(pages);

using CancellationTokenSource stop = new();
Console.CancelKeyPress += (_, e) => { e.Cancel = true; stop.Cancel(); };

using HttpClient client = new(new HttpStatusHandler(new SocketsHttpHandler())) { BaseAddress = site.Address };
int retries = 0;
ParallelRunOptions polite = new()
{
    OperationName = "crawl",
    MaxDegreeOfParallelism = 8,
    RateLimit = new() { TokensPerSecond = 100, BurstCapacity = 8 },
    AttemptTimeout = TimeSpan.FromSeconds(10),
    Retry = new()
    {
        MaxRetries = 3,
        IsTransient = HttpRetry.IsTransient,
        DelayHint = HttpRetry.RetryAfter,
        OnRetryAsync = (_, _) =>
        {
            Interlocked.Increment(ref retries);
            return default;
        },
    },
    Output = new() { ReturnOutcomesOnCancellation = true },
};

// Each page adds the pages that it links to. The queue takes each address once, and ends when no page is queued or being fetched.
WorkQueue<string> found = WorkQueue.DistinctBy<string, string>(path => path);
found.Add("/0");
ItemOutcome<string, string>[] outcomes = await found.SelectParallelOutcomesAsync(FetchAsync, polite, stop.Token);
string[] done = [.. outcomes.Where(o => o.IsSuccess).Select(o => o.Value)];
int failed = outcomes.Count(o => o.Status is ItemStatus.Failed or ItemStatus.TimedOut);

await File.WriteAllLinesAsync(file, done);
Console.WriteLine($"{(stop.IsCancellationRequested ? "stopped" : "finished")}: {done.Length} pages kept, {failed} failed, {retries} retries; see {file}");
return stop.IsCancellationRequested ? 130 : 0;

async Task<string> FetchAsync(string path, CancellationToken token)
{
    string page = await client.GetStringAsync(path, token);
    found.AddRange(Regex.Matches(page, "href=\"([^\"]+)\"").Select(m => m.Groups[1].Value));
    Console.WriteLine($"fetched {path}");
    return path;
}
