using System.Reflection;
using Weir.Cli.App;
using Weir.Cli.Kit.App;
using Weir.Cli.Tests.Support;
using Weir.Delivery.Cli.App;
using Weir.Tables.App;

namespace Weir.Cli.Tests.App;

/// <summary>The three programs: what each shows of itself, and what it says of a verb that another one has.</summary>
public sealed class ProgramsTests
{
    [Theory(Timeout = 60_000)]
    [InlineData("", "run time scale compare gate history report doctor hash load top")]
    [InlineData("weir-work ", "setup publish run stats list find cancel dead cdc")]
    [InlineData("weir-audit ", "run load")]
    [InlineData(
        "eng/tables ",
        "ratios warm-up cold-start blocking-table auto-table blocks-grid few-items dashboard adaptive overload load-table hash-table runtimes-table selfcheck goals figures "
            + "queues-compared job-systems")]
    public async Task Help_OfAProgram_IsOneScreenWithALineAVerb(string program, string verbs)
    {
        LoadResult result = await new CliUnderTest().RunAsync($"{program}--help");
        Assert.Equal((0, ""), (result.ExitCode, result.Error));
        string[] lines = result.Out.TrimEnd().Split('\n');
        Assert.InRange(lines.Length, 5, 24);
        string[] ofVerbs = [.. lines.Where(static line => line.StartsWith("  ", StringComparison.Ordinal))];
        Assert.Equal(verbs.Split(' '), ofVerbs.Select(static line => line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[0]));
        Assert.All(ofVerbs, static line =>
        {
            Assert.InRange(line.Length, 10, ScreenHelp.LongestLine);
            Assert.EndsWith(".", line, StringComparison.Ordinal);
        });
        Assert.Equal(result.Out, (await new CliUnderTest().RunAsync(program)).Out);
    }

    [Theory(Timeout = 60_000)]
    [InlineData("run --help", "--workers")]
    [InlineData("weir-work dead list --help", "--limit")]
    [InlineData("eng/tables ratios -h", "--filter")]
    public async Task Help_OfAVerb_HasItsOptions(string arguments, string option)
    {
        LoadResult result = await new CliUnderTest().RunAsync(arguments);
        Assert.Equal((0, ""), (result.ExitCode, result.Error));
        Assert.Contains(option, result.Out, StringComparison.Ordinal);
    }

    [Fact(Timeout = 60_000)]
    public async Task Help_OfEachVerb_SaysWhatTheProgramSaysOfIt()
    {
        LoadResult all = await new CliUnderTest().RunAsync("--help");
        string[][] verbs =
            [.. all.Out.Split('\n').Where(static l => l.StartsWith("  ", StringComparison.Ordinal)).Select(static l => l.Trim().Split(' ', 2))];
        Assert.Equal(11, verbs.Length);
        foreach (string[] verb in verbs)
        {
            // Asked for alone, it has its options, and the others are names.
            LoadResult own = await new CliUnderTest().RunAsync($"{verb[0]} --help");
            Assert.Equal((0, ""), (own.ExitCode, own.Error));
            Assert.Contains(verb[1].Trim(), own.Out, StringComparison.Ordinal);
            Assert.Contains($"weir {verb[0]} ", own.Out, StringComparison.Ordinal);
            Assert.Contains("--json", own.Out, StringComparison.Ordinal);
        }
    }

    [Theory(Timeout = 60_000)]
    [InlineData("run", "--keep-in")]
    [InlineData("scale", "--keep-in")]
    [InlineData("time", "--keep-in")]
    [InlineData("compare", "--alpha")]
    [InlineData("gate", "--alpha")]
    [InlineData("load", "--preserve-order")]
    public async Task Help_OfAVerb_HasAtMostTwentyOptionsFirst(string verb, string rare)
    {
        static string[] Options(LoadResult result) => [.. result.Out.Split('\n').Where(static l => l.TrimStart().StartsWith('-'))];

        LoadResult first = await new CliUnderTest().RunAsync($"{verb} --help");
        LoadResult all = await new CliUnderTest().RunAsync($"{verb} --help-all");

        Assert.Equal((0, ""), (all.ExitCode, all.Error));
        Assert.InRange(Options(first).Length, 5, 20);
        Assert.Contains($"'weir {verb} --help-all'", first.Out, StringComparison.Ordinal);
        Assert.DoesNotContain(rare, first.Out, StringComparison.Ordinal);
        Assert.Contains(rare, all.Out, StringComparison.Ordinal);
        Assert.True(Options(all).Length > Options(first).Length);
    }

    [Theory(Timeout = 60_000)]
    [InlineData("work", "weir-work")]
    [InlineData("work dead list --name x", "weir-work dead")]
    [InlineData("cdc --slot s", "weir-work cdc")]
    [InlineData("run --command ls", "weir time")]
    [InlineData("ratios --filter *", "eng/tables ratios")]
    [InlineData("figures cdc", "eng/tables figures")]
    public async Task Verb_ThatMoved_IsOneSentence(string arguments, string now)
    {
        LoadResult result = await new CliUnderTest().RunAsync(arguments);
        Assert.Equal((1, ""), (result.ExitCode, result.Out));
        Assert.StartsWith("weir: 'weir ", result.Error, StringComparison.Ordinal);
        Assert.EndsWith($"' is '{now}' now.", result.Error.TrimEnd(), StringComparison.Ordinal);
    }

    [Fact]
    public void Weir_KnowsNoServer_AndNeitherItNorWorkABenchmark()
    {
        Assert.DoesNotContain(Reached(typeof(WeirApp).Assembly), static name => name is "Npgsql" or "RabbitMQ.Client" or "Weir.Delivery");
        Assert.All([typeof(WeirApp), typeof(WorkApp)], static program =>
            Assert.DoesNotContain(Reached(program.Assembly), static name => name is "BenchmarkDotNet" or "Weir.Lab.Suites"));
        Assert.Contains("Npgsql", Reached(typeof(TablesApp).Assembly));
    }

    // The assembly and all that it references, and so on.
    private static HashSet<string> Reached(Assembly assembly)
    {
        HashSet<string> names = [];
        Stack<AssemblyName> open = new([assembly.GetName()]);
        while (open.TryPop(out AssemblyName? name))
        {
            if (names.Add(name.Name!) && File.Exists(Path.Combine(AppContext.BaseDirectory, name.Name + ".dll")))
            {
                foreach (AssemblyName next in Assembly.Load(name).GetReferencedAssemblies())
                {
                    open.Push(next);
                }
            }
        }

        return names;
    }
}
