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
    SharedRateLimit = new TokenBucket(new RateLimitOptions { TokensPerSecond = 100, BurstCapacity = 8 }),
    AttemptTimeout = TimeSpan.FromSeconds(10),
    MaxRetries = 3,
    BackoffStrategy = BackoffStrategy.ExponentialJitter,
    IsTransient = HttpRetry.IsTransient,
    DelayHint = HttpRetry.RetryAfter,
    OnRetryAsync = (_, _, _) =>
    {
        Interlocked.Increment(ref retries);
        return default;
    },
    ReturnOutcomesOnCancellation = true,
};

// Breadth first: each round fetches the pages that the round before found. The rate limit is shared by all rounds.
HashSet<string> known = ["/0"];
List<string> next = ["/0"];
List<string> done = [];
int failed = 0;
while (next.Count > 0 && !stop.IsCancellationRequested)
{
    ItemOutcome<string[]>[] outcomes = await next.SelectParallelOutcomesAsync(LinksAsync, polite, stop.Token);
    done.AddRange(next.Zip(outcomes).Where(p => p.Second.IsSuccess).Select(p => p.First));
    failed += outcomes.Count(o => o.Status is ItemStatus.Failed or ItemStatus.TimedOut);
    next = [.. outcomes.Where(o => o.IsSuccess).SelectMany(o => o.Value).Where(known.Add)];
}

await File.WriteAllLinesAsync(file, done);
Console.WriteLine($"{(stop.IsCancellationRequested ? "stopped" : "finished")}: {done.Count} pages kept, {failed} failed, {retries} retries; see {file}");
return stop.IsCancellationRequested ? 130 : 0;

async Task<string[]> LinksAsync(string path, CancellationToken token)
{
    string page = await client.GetStringAsync(path, token);
    Console.WriteLine($"fetched {path}");
    return [.. Regex.Matches(page, "href=\"([^\"]+)\"").Select(m => m.Groups[1].Value)];
}
