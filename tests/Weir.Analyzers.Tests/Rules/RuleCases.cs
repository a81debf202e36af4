namespace Weir.Analyzers.Tests.Rules;

/// <summary>The cases of one rule. Each is the body of a method, except for aliases, which are files.</summary>
internal sealed record RuleCases(string Rule, string[] Bad, string[] Good)
{
    private const string Limit = "new ParallelRunOptions { PerItemTimeout = TimeSpan.FromSeconds(1) }";

    private const string Retry = "new ParallelRunOptions { MaxRetries = 3 }";

    public static RuleCases[] All { get; } =
    [
        AliasCases.All,
        new(
            "WEIR002",
            [
                "int n = 0; await items.ForEachParallelAsync(x => { [|n++|]; }); Console.WriteLine(n);",
                "long n = 0; await items.ForEachParallelAsync(async (x, token) => { await Work.SaveAsync(x); [|n += x|]; }); Console.WriteLine(n);",
                "var all = new List<int>(); await items.ForEachParallelAsync((x, token) => { [|all.Add(x)|]; return Task.CompletedTask; });",
                "var all = new Dictionary<int, int>(); await items.ForEachParallelAsync(x => { [|all[x] = 1|]; });",
                "var text = new StringBuilder(); await items.ForEachParallelAsync(x => { [|text.Append(x)|]; });",
                "var set = new HashSet<int>(); var fresh = await items.SelectParallelAsync(x => [|set.Add(x)|]);",
                "await items.ForEachParallelAsync(x => { [|_seen.Add(x)|]; });",
                "await items.ForEachParallelAsync(x => { [|Known.TryAdd(x, 1)|]; });",
                "await runtime.ProcessManyAsync(items, x => { [|Text.AppendLine(\"x\")|]; return x; });",
                "int last = 0; "
                    + "await foreach (int r in items.SelectParallelStreamAsync(async (x, t) => { [|last = x|]; return await Work.LoadAsync(x, t); })) { }",
                "int parsed = 0; await items.ForEachParallelAsync(x => { int.TryParse(\"1\", [|out parsed|]); });",
                "var queue = new Queue<int>(); int n = 0; await items.BatchParallelAsync(2, b => { [|queue.Enqueue(b.Count)|]; [|++n|]; return n; });",
                "int a = 0, b = 0; await later.ForEachParallelAsync(x => { [|(a, b) = (b, x)|]; });",
                "await items.ForEachParallelAsync(x => { [|_total += x|]; });",
                "await items.ForEachParallelAsync(x => { [|this._total++|]; [|Sum--|]; [|C.Sum *= x|]; });",
                "var box = new System.Runtime.CompilerServices.StrongBox<int>(); await items.ForEachParallelAsync(x => { [|box.Value += x|]; });",
                "(int A, (int B, int C) D) of = default; await items.ForEachParallelAsync(x => { [|of.A = x|]; [|of.D.B++|]; });",
                "var seen = new ConcurrentDictionary<int, int>(); await items.ForEachParallelAsync(x => { [|seen[x]++|]; [|seen[x] += x|]; });",
                "await items.ForEachParallelAsync(x => { [|Known[x]++|]; [|Known[x] += 2|]; });",
            ],
            [
                "int n = 0; await items.ForEachParallelAsync(x => { Interlocked.Increment(ref n); });",
                "int n = 0; object gate = new(); await items.ForEachParallelAsync(x => { lock (gate) { n++; } });",
                "var all = new List<int>(); var gate = new SemaphoreSlim(1); "
                    + "await items.ForEachParallelAsync(async (x, t) => { await gate.WaitAsync(t); all.Add(x); gate.Release(); });",
                "var all = new ConcurrentQueue<int>(); await items.ForEachParallelAsync(x => { all.Enqueue(x); });",
                "var all = await items.SelectParallelAsync(x => { var own = new List<int>(); own.Add(x); return own.Count; });",
                "var all = await items.SelectParallelAsync(x => { int n = 0; n += x; return n; });",
                "int[] slots = new int[items.Length]; await items.ForEachParallelAsync(x => { slots[x] = 1; });",
                "var seen = new ConcurrentDictionary<int, int>(); await items.ForEachParallelAsync(x => { seen[x] = 1; });",
                "int n = 0; await items.ForEachParallelAsync(x => { n++; }, new ParallelRunOptions { MaxDegreeOfParallelism = 1 });",
                "var known = new Dictionary<int, int>(); var all = await items.SelectParallelAsync(x => known.TryGetValue(x, out int v) ? v : 0);",
                "int n = 0; foreach (int x in items) { n++; _seen.Add(x); } Text.Append(n);",
                "int n = 0; await items.ForEachParallelAsync(x => { Volatile.Write(ref n, x); });",
                "await items.ForEachParallelAsync(x => { _total = x; Sum = x; });",
                "await items.ForEachParallelAsync(x => { Interlocked.Add(ref _total, x); _own++; });",
                "var own = new ThreadLocal<int>(); await items.ForEachParallelAsync(x => { own.Value++; });",
                "var boxes = new[] { new System.Runtime.CompilerServices.StrongBox<int>() }; await boxes.ForEachParallelAsync(b => { b.Value++; });",
                "await items.ForEachParallelAsync(x => { "
                    + "var own = new System.Runtime.CompilerServices.StrongBox<(int A, int B)>(); own.Value.A += x; own.Value.B++; });",
                "int[] slots = new int[8]; await items.ForEachParallelAsync(x => { slots[x]++; slots[x] += 1; });",
                "var all = await items.BatchParallelAsync(2, b => { int sum = 0; foreach (int x in b) { sum += x; } return sum; });",
            ]),
        new(
            "WEIR003",
            [
                $"await items.SelectParallelAsync((x, [|token|]) => Work.LoadAsync(x), {Limit});",
                $"await items.SelectParallelAsync(async (x, [|_|]) => await Work.LoadAsync(x), {Limit});",
                $"await items.SelectParallelAsync([|x|] => Work.LoadAsync(x), {Limit});",
                $"await items.SelectParallelAsync([|Work.OnlyAsync|], {Limit});",
                $"await items.ForEachParallelAsync([|(int x)|] => Work.SaveAsync(x), {Limit});",
                "await items.ForEachParallelAsync((x, [|t|]) => Work.SaveAsync(x), new() { AttemptTimeout = TimeSpan.FromSeconds(1), MaxRetries = 1 });",
                "await runtime.ProcessManyAsync(items, (x, [|t|]) => Work.LoadAsync(x), new ProcessManyOptions { PerItemTimeout = TimeSpan.FromSeconds(1) });",
                "await concurrent.ProcessManyAsync(items, async (x, [|t|]) => await Work.LoadAsync(x), new() { TotalTimeout = TimeSpan.FromSeconds(1) });",
                $"await foreach (int r in later.SelectParallelStreamAsync((x, [|t|]) => Work.LoadAsync(x, stop), {Limit})) {{ }}",
                $"await items.BatchParallelAsync(2, [|b|] => b.Count, {Limit});",
                $"await items.SelectParallelOutcomesAsync([|x|] => Work.Compute(x), {Limit});",
            ],
            [
                $"await items.SelectParallelAsync((x, token) => Work.LoadAsync(x, token), {Limit});",
                $"await items.SelectParallelAsync(Work.LoadAsync, {Limit});",
                "await items.SelectParallelAsync((x, token) => Work.LoadAsync(x));",
                "await items.SelectParallelAsync(x => Work.LoadAsync(x), new ParallelRunOptions { MaxDegreeOfParallelism = 2 });",
                "await items.SelectParallelAsync(x => Work.LoadAsync(x), new ParallelRunOptions { PerItemTimeout = null });",
                "await items.SelectParallelAsync(x => Work.LoadAsync(x), new ParallelRunOptions { PerItemTimeout = Timeout.InfiniteTimeSpan });",
                $"await items.ForEachParallelAsync(async (x, t) => {{ t.ThrowIfCancellationRequested(); await Work.SaveAsync(x); }}, {Limit});",
                $"var options = {Limit}; await items.SelectParallelAsync(x => Work.LoadAsync(x), options);",
                "await runtime.ProcessManyAsync(items, Work.LoadAsync, new ProcessManyOptions { PerItemTimeout = TimeSpan.FromSeconds(1) });",
                $"await items.SelectParallelAsync(async (x, t) => {{ using var both = CancellationTokenSource.CreateLinkedTokenSource(t, stop); "
                    + $"return await Work.LoadAsync(x, both.Token); }}, {Limit});",
            ]),
        new(
            "WEIR004",
            [
                $"await items.ForEachParallelAsync((x, t) => [|db.InsertAsync(x, t)|], {Retry});",
                $"await items.ForEachParallelAsync(async (x, t) => {{ await [|db.InsertAsync(x, t)|]; }}, {Retry});",
                $"await items.SelectParallelAsync((x, t) => [|client.PostAsync(\"u\", null, t)|], {Retry});",
                $"await items.ForEachParallelAsync([|db.ChargeAsync|], {Retry});",
                $"await items.ForEachParallelAsync((x, t) => [|db.PublishAsync(x, t)|], {Retry});",
                $"await items.BatchParallelAsync(2, (b, t) => [|db.BulkInsertAsync(b, t)|], {Retry});",
                $"await items.SelectParallelAsync((x, t) => client.SendAsync(new HttpRequestMessage([|HttpMethod.Post|], \"u\"), t), {Retry});",
                "int n = 2; await items.ForEachParallelAsync((x, t) => [|db.ChargeAsync(x, t)|], new() { MaxRetries = n });",
                "await items.ForEachParallelAsync((x, t) => [|db.ChargeAsync(x, t)|], new() { Retry = new() });",
                $"await items.SelectParallelOutcomesAsync(async (x, t) => {{ await [|db.PublishAsync(x, t)|]; return x; }}, {Retry});",
                $"await later.ForEachParallelAsync(x => [|db.InsertAsync(x)|], {Retry});",
            ],
            [
                "await items.ForEachParallelAsync((x, t) => db.InsertAsync(x, t));",
                "await items.ForEachParallelAsync((x, t) => db.InsertAsync(x, t), new ParallelRunOptions { MaxRetries = 0 });",
                "await items.ForEachParallelAsync((x, t) => db.InsertAsync(x, t), new() { Retry = new() { MaxRetries = 0 } });",
                $"await items.ForEachParallelAsync((x, t) => db.UpsertAsync(x, t), {Retry});",
                $"await items.ForEachParallelAsync((x, t) => db.PayAsync(x, idempotencyKey: \"k\", t), {Retry});",
                $"await items.SelectParallelAsync((x, t) => client.GetStringAsync(\"u\", t), {Retry});",
                $"await items.SelectParallelAsync(Work.LoadAsync, {Retry});",
                $"await items.ForEachParallelAsync((x, t) => {{ db.Insert(x); return Task.CompletedTask; }}, {Retry});",
                $"await items.SelectParallelAsync(x => {{ var text = new StringBuilder(); text.Append(x); return text.ToString(); }}, {Retry});",
                $"await items.SelectParallelAsync((x, t) => client.SendAsync(new HttpRequestMessage(HttpMethod.Get, \"u\"), t), {Retry});",
                "await db.InsertAsync(1); var retry = new ParallelRunOptions { MaxRetries = 3 };",
                $"await items.ForEachParallelAsync(async (x, t) => {{ string idempotent = x.ToString(); await db.InsertAsync(x, t); }}, {Retry});",
            ]),
        DroppedCases.All,
        UnusedResultsCases.All,
        UnfitCallCases.All,
        NoEffectCases.All,
        QueryCases.All,
        UnseenLossCases.All,
    ];

    public static Snippet Snippet(string rule, string code) => rule == "WEIR001" ? Tests.Snippet.Of(code) : Tests.Snippet.Body(code);
}
