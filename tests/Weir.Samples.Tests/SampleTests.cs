using System.Globalization;
using System.Net;
using System.Text.RegularExpressions;

namespace Weir.Samples.Tests;

/// <summary>Each program of the folder samples runs, writes what its page says, and ends with the exit code that its page names.</summary>
public class SampleTests
{
    private const int Patience = 120_000;

    public static TheoryData<string> Samples() =>
        [.. Directory.EnumerateFiles(Path.Combine(Repository.Root, "samples"), "*.csproj", SearchOption.AllDirectories)
            .Select(static p => Path.GetFileNameWithoutExtension(p)).Order(StringComparer.Ordinal)];

    [Theory]
    [MemberData(nameof(Samples))]
    public void Sample_HasAPageAndATest(string sample)
    {
        string page = File.ReadAllText(Path.Combine(Repository.Root, "samples", sample, "README.md"));
        Assert.Contains($"samples/{sample}", page, StringComparison.Ordinal);
        Assert.Contains($"({sample}/README.md)", File.ReadAllText(Path.Combine(Repository.Root, "samples", "README.md")), StringComparison.Ordinal);
        Assert.Contains(
            typeof(SampleTests).Assembly.GetTypes().SelectMany(static t => t.GetMethods()),
            m => m.Name.StartsWith(sample + "_", StringComparison.Ordinal) && m.IsDefined(typeof(FactAttribute), false));
    }

    [Fact(Timeout = Patience)]
    public async Task Crawler_WholeSite_FetchesEachPageInSpiteOfRefusals()
    {
        using TemporaryFolder folder = new();
        await using SampleProgram program = SampleProgram.Start("Crawler", "60", folder.File("pages.txt"));
        (string output, string errors, int code) = await program.EndAsync();
        Assert.True(code == 0, output + errors);

        // Three pages refuse once with 429, and six fail once with 503.
        Assert.Contains("finished: 60 pages kept, 0 failed, 9 retries; see ", output, StringComparison.Ordinal);
        string[] kept = await File.ReadAllLinesAsync(folder.File("pages.txt"), TestContext.Current.CancellationToken);
        Assert.Equal(Enumerable.Range(0, 60).Select(static n => $"/{n}").Order(StringComparer.Ordinal), kept.Order(StringComparer.Ordinal));
    }

    [Fact(Timeout = Patience)]
    public async Task Crawler_CtrlC_KeepsWhatWasDone()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "Signals of this kind are not sent between processes on Windows.");
        using TemporaryFolder folder = new();
        await using SampleProgram program = SampleProgram.Start("Crawler", "1000000", folder.File("pages.txt"));
        await program.LineAsync("fetched /9");
        program.Signal(SampleProgram.Interrupt);
        (string output, string errors, int code) = await program.EndAsync();
        Assert.True(code == 130, output + errors);
        // A page that the site refuses after the signal is not asked for again, and so has failed.
        int kept = Number(output, @"^stopped: (\d+) pages kept, \d failed");
        Assert.InRange(kept, 1, 100_000);
        Assert.Equal(kept, (await File.ReadAllLinesAsync(folder.File("pages.txt"), TestContext.Current.CancellationToken)).Length);
    }

    [Fact(Timeout = Patience)]
    public async Task CsvToSqlite_BadLines_StoresTheOthers()
    {
        using TemporaryFolder folder = new();
        await File.WriteAllLinesAsync(
            folder.File("orders.csv"),
            ["id,customer,amount", .. Enumerable.Range(1, 2_500).Select(static n => n == 1_234 ? "1234,nobody" : $"{n},somebody,{n}.50")],
            TestContext.Current.CancellationToken);
        (string output, string errors, int code) = await RunAsync("CsvToSqlite", folder.File("orders.csv"), folder.File("orders.db"));
        Assert.True(code == 0, output + errors);
        Assert.Matches(@"^2499 rows in \d+ batches, 1 bad lines; the table has 2499 rows$", output);
        Assert.Contains("line 1235: ", errors, StringComparison.Ordinal);
        Assert.True(new FileInfo(folder.File("orders.db")).Length > 10_000);
    }

    [Fact(Timeout = Patience)]
    public async Task KeyedWorker_Changes_AreAppliedInOrderOfTheirAccount()
    {
        (string output, string errors, int code) = await RunAsync("KeyedWorker", "1000");
        Assert.True(code == 0, output + errors);
        Assert.Contains("1000 changes accepted, 1000 applied to 20 accounts, 0 out of order", output, StringComparison.Ordinal);
    }

    [Fact(Timeout = Patience)]
    public async Task KeyedWorker_Terminated_FinishesWhatItAccepted()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "Signals of this kind are not sent between processes on Windows.");
        await using SampleProgram program = SampleProgram.Start("KeyedWorker", "100000000");
        await program.LineAsync("100 changes applied");
        program.Signal(SampleProgram.Terminate);
        (string output, string errors, int code) = await program.EndAsync();
        Assert.True(code == 0, output + errors);
        int accepted = Number(output, @"^(\d+) changes accepted, \1 applied to 20 accounts, 0 out of order$");
        Assert.InRange(accepted, 100, 99_999_999);
    }

    [Fact(Timeout = Patience)]
    public async Task Checksums_Calls_AreThoseOfAPlainLoop()
    {
        (string output, string errors, int code) = await RunAsync("Checksums", "40");
        Assert.True(code == 0, output + errors);
        Assert.Equal(3, Regex.Count(output, "40 digests, the same as of a plain loop"));

        // The other two end at once, but a machine may hold up a thread for as long as the limit.
        Assert.Matches("with a time limit: (Succeeded|TimedOut), TimedOut, (Succeeded|TimedOut)$", output);
    }

    [Fact(Timeout = Patience)]
    public async Task DataflowNetwork_Lines_AreCountedByTheBlocksOfWeir()
    {
        (string output, string errors, int code) = await RunAsync("DataflowNetwork", "10000");
        Assert.True(code == 0, output + errors);
        Assert.Equal("70000 words, 15 different, \"the\" 20000 times, by Weir.Dataflow", output);
    }

    [Fact(Timeout = Patience)]
    public async Task ThreeStages_Documents_AreAllStored()
    {
        (string output, string errors, int code) = await RunAsync("ThreeStages", "300");
        Assert.True(code == 0, output + errors);
        Assert.Equal("300 summaries stored; the folder has 300 files", output);
    }

    [Fact(Timeout = Patience)]
    public async Task Dashboard_Started_HasSomethingToLookAt()
    {
        await using SampleProgram program = SampleProgram.Start("Dashboard", "http://127.0.0.1:0");
        using HttpClient client = new();
        string address = (await program.LineAsync("listening on ")).Split(' ')[^1];
        string[] parts = ["crawl", "import", "payments", "decode", "scale", "store", "database", "orders", "dead letters</a>"];
        await Guard.UntilAsync(
            async () =>
            {
                string page = await client.GetStringAsync(address, TestContext.Current.CancellationToken);
                return parts.All(part => page.Contains(part, StringComparison.Ordinal));
            },
            "all parts of the sample on its page");
    }

    [Fact(Timeout = Patience)]
    public async Task WebFanOut_OneBackendDown_AnswersWithTheOthersAndLeavesItAlone()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "Signals of this kind are not sent between processes on Windows.");

        // A backend has a minute to answer: with the sample's two seconds, 600 calls at once on a busy machine run out of time.
        await using SampleProgram program = SampleProgram.Start("WebFanOut", "http://127.0.0.1:0", "60");
        using HttpClient client = new() { BaseAddress = new Uri((await program.LineAsync("listening on ")).Split(' ')[^1]) };
        string[] answers = await Task.WhenAll(Enumerable.Range(0, 30).Select(_ => client.GetStringAsync("/quotes", TestContext.Current.CancellationToken)))
            .WithinAsync("30 requests");
        Assert.All(answers, static answer =>
        {
            Assert.Equal(20, Regex.Count(answer, "(?m)^backend-"));

            // A quote has 2 s, which may be too short on a busy machine.
            Assert.Matches("backend-07: (Failed|TimedOut), ", answer);
        });

        string last = "";
        while (!last.Contains("backend-07: Failed, CircuitBreakerOpenException", StringComparison.Ordinal))
        {
            last = await client.GetStringAsync("/quotes", TestContext.Current.CancellationToken);
        }

        // Three failures open the circuit, while at most four calls are in flight. Without it there would be 62 calls.
        string calls = await client.GetStringAsync("/backend-07/calls", TestContext.Current.CancellationToken);
        Assert.InRange(int.Parse(calls, CultureInfo.InvariantCulture), 3, 12);
        program.Signal(SampleProgram.Interrupt);
        (string output, string errors, int code) = await program.EndAsync();
        Assert.True(code == 0, output + errors);
    }

    [Fact(Timeout = Patience)]
    public async Task OverloadedService_MoreThanItCanDo_RefusesTheRestAndGetsItsPermitsBack()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "Signals of this kind are not sent between processes on Windows.");
        CancellationToken token = TestContext.Current.CancellationToken;
        await using SampleProgram program = SampleProgram.Start("OverloadedService", "http://127.0.0.1:0");
        using HttpClient client = new() { BaseAddress = new Uri((await program.LineAsync("listening on ")).Split(' ')[^1]) };
        Assert.Equal("order 7\n", await client.GetStringAsync("/orders/7", token).WithinAsync());

        // A thousand at once are five seconds of work, and a client has two.
        using CancellationTokenSource leave = CancellationTokenSource.CreateLinkedTokenSource(token);
        Task<HttpResponseMessage>[] requests = [.. Enumerable.Range(0, 1000).Select(n => client.GetAsync($"/orders/{n}", leave.Token))];
        HttpResponseMessage refused = await (await Task.WhenAny(requests.Select(FirstRefusedAsync))).WithinAsync("a request that is refused");
        Assert.Equal(TimeSpan.FromSeconds(1), refused.Headers.RetryAfter?.Delta);

        // The others leave, wherever they are.
        await leave.CancelAsync();
        await Guard.UntilAsync(
            async () => (await client.GetStringAsync("/limit", token)).Contains("InUse = 0, Waiting = 0,", StringComparison.Ordinal), "the return of all permits");
        foreach (Task<HttpResponseMessage> request in requests)
        {
            await ((Task)request).EndsAsync("a request");
        }

        using HttpRequestMessage critical = new(HttpMethod.Get, "/orders/8") { Headers = { { "X-Priority", "Critical" }, { "X-Deadline-Ms", "50000" } } };
        using HttpResponseMessage answer = await client.SendAsync(critical, token).WithinAsync();
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        program.Signal(SampleProgram.Interrupt);
        (string output, string errors, int code) = await program.EndAsync();
        Assert.True(code == 0, output + errors);

        static async Task<HttpResponseMessage> FirstRefusedAsync(Task<HttpResponseMessage> request)
        {
            HttpResponseMessage response = await request;
            return response.StatusCode == HttpStatusCode.ServiceUnavailable
                ? response
                : await new TaskCompletionSource<HttpResponseMessage>().Task;
        }
    }

    [Fact(Timeout = Patience)]
    public async Task WorkerService_Orders_AreEnteredOrDeadLettersAndWatchedAndItStopsGracefully()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "Signals of this kind are not sent between processes on Windows.");
        CancellationToken token = TestContext.Current.CancellationToken;
        using OtlpReceiver collector = new();
        await using SampleProgram program = SampleProgram.Start("WorkerService", new Dictionary<string, string>
        {
            ["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.Endpoint("").AbsoluteUri,
            ["OTEL_EXPORTER_OTLP_PROTOCOL"] = "http/protobuf",
            ["OTEL_METRIC_EXPORT_INTERVAL"] = "200",
            ["OTEL_BSP_SCHEDULE_DELAY"] = "200",
            ["OTEL_BLRP_SCHEDULE_DELAY"] = "200",
        });
        using HttpClient client = new() { BaseAddress = new Uri((await program.LineAsync("listening on ")).Split(' ')[^1]) };
        foreach (string order in Enumerable.Range(1, 20).Select(static n => n switch { 7 => "bad-7", 8 => "flaky-8", _ => $"{n}" }))
        {
            using HttpResponseMessage accepted = await client.PostAsync($"/orders/{order}", null, token);
            Assert.Equal(HttpStatusCode.Accepted, accepted.StatusCode);
        }

        await Guard.UntilAsync(() => program.Count("entered ") == 19, "the orders");
        string dead = "";
        while (!dead.Contains("\"attempts\":2", StringComparison.Ordinal))
        {
            dead = await client.GetStringAsync("/dead", token);
        }

        Assert.Equal("Healthy", await client.GetStringAsync("/health/live", token));
        Assert.Equal("Healthy", await client.GetStringAsync("/health/ready", token));
        Assert.Equal("Healthy", await client.GetStringAsync("/health/lag", token));

        // While it runs, as a collector sees it. Exporters have seconds at the end of the process, which may be held up for longer.
        (string Path, string[] Texts)[] missing = [.. Watched()];
        Exception? tooLate = await Record.ExceptionAsync(() => Guard.UntilAsync(
            () => (missing = Array.FindAll(missing, m => !collector.Has(m.Path, m.Texts))).Length == 0, "what is watched of the running worker"));
        Assert.True(tooLate is null, $"{tooLate}\n{string.Join('\n', missing.Select(static m => $"{m.Path}: {string.Join(' ', m.Texts)}"))}");
        program.Signal(SampleProgram.Terminate);
        (string output, string errors, int code) = await program.EndAsync();
        Assert.True(code == 0, output + errors);
        Assert.EndsWith("19 orders entered, 1 dead letters, 0 returned", output, StringComparison.Ordinal);
    }

    /// <summary>What is to come: what the page on observability names, the run and the service, and what happened to the orders.</summary>
    private static IEnumerable<(string Path, string[] Texts)> Watched()
    {
        string page = File.ReadAllText(Path.Combine(Repository.Root, "docs", "reference", "observability.md"));
        foreach ((string path, string[] named) in new (string, string[])[]
        {
            ("/v1/metrics",
            [
                "weir.work.items", "weir.work.read", "weir.work.lag", "weir.runs.active", "weir.run.duration", "weir.items", "weir.call.duration",
                "weir.retries", "weir.circuit_breakers", "weir.operation.name", "weir.work.source", "weir.outcome",
            ]),
            ("/v1/traces", ["weir.item", "weir.attempt", "weir.work.id", "weir.operation.name", "weir.outcome"]),
            ("/v1/logs", ["OperationName", "Succeeded", "Retries", "Index", "Attempt", "DelaySeconds"]),
        })
        {
            foreach (string name in named)
            {
                Assert.True(page.Contains($"`{name}`", StringComparison.Ordinal), $"The page has no {name}");
                yield return (path, [name]);
            }

            yield return (path, ["orders.enter", "region", "north"]);
            yield return (path, ["service.name", "orders"]);
        }

        yield return ("/v1/metrics", ["weir.work.items", "dead_lettered"]);
        yield return ("/v1/traces", ["process orders", "System.FormatException"]);
        yield return ("/v1/logs", ["attempt 1 of item "]);
        yield return ("/v1/logs", ["Worker orders stored item "]);
        yield return ("/v1/logs", ["Weir.Worker"]);
    }

    [Fact(Timeout = Patience)]
    public async Task LongRun_Rows_AreReported()
    {
        (string output, string errors, int code) = await RunAsync("LongRun", "400");
        Assert.True(code == 0, output + errors);
        Assert.Contains("import.rows: 396 of 400 imported, 4 failed", output, StringComparison.Ordinal);
        Assert.Contains("in flight: ", output, StringComparison.Ordinal);
        Assert.EndsWith("the meter counted 396 items that succeeded", output, StringComparison.Ordinal);
    }

    [Fact(Timeout = Patience)]
    public async Task ControlledRun_Rows_AreImported()
    {
        (string output, string errors, int code) = await RunAsync("ControlledRun", "400");
        Assert.True(code == 0, output + errors);
        Assert.EndsWith("400 of 400 rows imported, 0 left", output, StringComparison.Ordinal);
    }

    [Fact(Timeout = Patience)]
    public async Task ControlledRun_PausedAndCtrlC_FinishesOnlyWhatHasBegun()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "Signals of this kind are not sent between processes on Windows.");
        await using SampleProgram program = SampleProgram.StartWithInput("ControlledRun", "1000000");
        await program.LineAsync("100 rows imported");
        await program.WriteAsync("64");
        await program.LineAsync("running, at most 64 at once: ");
        await program.WriteAsync("pause");
        await program.LineAsync("paused: ");
        await program.WriteAsync("resume");
        await program.LineAsync("running, ");
        await program.WriteAsync("pause");
        string paused = await program.LineAsync("paused: ");
        program.Signal(SampleProgram.Interrupt);
        (string output, string errors, int code) = await program.EndAsync();
        Assert.True(code == 130, output + errors);
        int begun = Number(paused, @"(\d+) done") + Number(paused, @"(\d+) in flight");
        Assert.Equal(begun, Number(output, @"^(\d+) of 1000000 rows imported"));
        Assert.Equal(1_000_000 - begun, Number(output, @"imported, (\d+) left$"));
    }

    [Fact(Timeout = Patience)]
    public async Task HashTree_Folder_IsHashedInOrder()
    {
        using TemporaryFolder folder = new();
        Directory.CreateDirectory(folder.File("inner"));
        await File.WriteAllTextAsync(folder.File("a.txt"), "abc", TestContext.Current.CancellationToken);
        await File.WriteAllTextAsync(folder.File("inner/b.txt"), "", TestContext.Current.CancellationToken);
        (string output, string errors, int code) = await RunAsync("HashTree", folder.Path);
        Assert.True(code == 0, output + errors);
        Assert.Equal(
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a.txt\n"
            + $"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  inner{Path.DirectorySeparatorChar}b.txt",
            output);
        Assert.Contains("2 files hashed, 0 failed, 3 bytes", errors, StringComparison.Ordinal);
        Assert.Equal(2, (await RunAsync("HashTree")).Code);
    }

    [Fact(Timeout = Patience)]
    public async Task WorkersBenchmark_Dry_HasARowForEachNumberOfWorkers()
    {
        using TemporaryFolder folder = new();
        (string output, string errors, int code) = await RunAsync(
            "WorkersBenchmark", "--filter", "*Atomic*", "--job", "dry", "--inProcess", "--workers", "1,2", "--artifacts", folder.Path);
        Assert.True(code == 0, output + errors);
        Assert.Matches(@"\| Atomic \| 1 ", output);
        Assert.Matches(@"\| Atomic \| 2 ", output);
    }

    private static async Task<(string Output, string Errors, int Code)> RunAsync(string sample, params string[] arguments)
    {
        await using SampleProgram program = SampleProgram.Start(sample, arguments);
        return await program.EndAsync();
    }

    private static int Number(string text, string pattern)
    {
        Match match = Regex.Match(text, pattern, RegexOptions.Multiline);
        Assert.True(match.Success, text);
        return int.Parse(match.Groups[1].Value, CultureInfo.InvariantCulture);
    }
}
