using Weir.Runtimes;

namespace Weir.Docs.Tests;

/// <summary>Is every example of README and docs a program that compiles, and runs where it needs nothing from outside?</summary>
[Collection(nameof(Console))]
public class ExampleTests
{
    /// <summary>Pages whose examples are compiled and not run, with the reason.</summary>
    private static readonly Dictionary<string, string> NotRun = new()
    {
        ["docs/reference/http.md"] = "needs a network",
        ["docs/changes.md"] = "needs a server",
        ["docs/reference/queue-gauges.md"] = "needs a server",
        ["docs/reference/table-to-index.md"] = "needs a server",
        ["docs/reference/postgresql.md"] = "needs a server",
        ["docs/reference/worker-over-postgresql.md"] = "needs a server, and runs in a test of its own",
        ["docs/reference/rabbitmq.md"] = "needs a broker",
        ["docs/measuring.md"] = "measures for a quarter of a minute",
    };

    /// <summary>What the examples of a page write.</summary>
    private static readonly Dictionary<string, string[]> Written = new()
    {
        ["docs/reference/migrating-from-dataflow.md"] = ["42\n"],
        ["docs/reference/migrating-from-rivulet.md"] = ["1, -1\n"],
        ["docs/hosting.md"] = ["2 sent"],
        ["docs/reference/resilience.md"] = ["page /prices"],
        ["docs/reference/measuring-from-code.md"] = ["weir run   split", "split with 2 workers: ", "\n8 rounds"],
        ["docs/reference/operators/select-parallel-stream.md"] = ["http://localhost/a\nhttp://localhost/b\n"],
    };

    /// <summary>Pages whose examples take long because they measure.</summary>
    private static readonly string[] Long = ["docs/reference/measuring-from-code.md"];

    // The programs of the tutorial have tests of their own.
    public static TheoryData<string> Pages() => [.. DocPages.All().Where(static p => p != TutorialTests.Page && DocPages.Examples(p).Length > 0)];

    public static IEnumerable<TheoryDataRow<string>> RunnablePages() =>
        Pages().Select(static p => new TheoryDataRow<string>(p.Data) { Explicit = Long.Contains(p.Data) ? true : null });

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(RunnablePages))]
    public async Task Page_Examples_CompileAndRun(string page)
    {
        PageProgram program = PageProgram.Of(page);
        string[] errors = program.Compile(out byte[] compiled);
        Assert.True(errors.Length == 0, $"{string.Join('\n', errors)}\nWhat examples take for granted is in Given.cs.\n{program.Code}");
        if (program.IsRunnable && !NotRun.ContainsKey(page))
        {
            string output = (await PageProgram.RunAsync(compiled, TimeSpan.FromMinutes(4))).ReplaceLineEndings("\n");
            Assert.All(Written.GetValueOrDefault(page, []), text => Assert.Contains(text, output, StringComparison.Ordinal));
        }
    }

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Pages))]
    public async Task Page_Examples_AreWarnedOfNothing(string page) =>
        Assert.Empty(await PageProgram.Of(page).WarningsAsync(TestContext.Current.CancellationToken));

    [Fact]
    public void Pages_NotRunOrWithOutput_AreThere()
    {
        string[] pages = [.. Pages().Select(static p => p.Data)];
        Assert.Subset(pages.ToHashSet(), NotRun.Keys.Concat(Written.Keys).Concat(Long).ToHashSet());
        Assert.InRange(pages.Length, 15, int.MaxValue);
    }

    [Fact]
    public void Shapes_Table_HasEachHook()
    {
        string table = DocPages.Read("docs/reference/operators/shapes.md");
        Type[] options =
        [
            typeof(ParallelRunOptions), typeof(AdaptiveConcurrencyOptions), typeof(ProgressOptions), typeof(MetricsOptions),
            typeof(Resilience.CircuitBreakerOptions), typeof(ProcessManyOptions), typeof(RuntimeOptions),
        ];
        string[] hooks = [.. options.SelectMany(static o => o.GetProperties())
            .Where(static p => typeof(Delegate).IsAssignableFrom(p.PropertyType) || p.PropertyType == typeof(Fallback)).Select(static p => p.Name).Distinct()];
        Assert.NotEmpty(hooks);
        Assert.All(hooks, hook => Assert.Matches($@"(?m)^\|.*`(\w+\.)?{hook}`.*\|.*`.*=>.*\|$", table));
    }
}
