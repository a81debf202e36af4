using Weir.Cli.Tests.Support;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.UserCode;

/// <summary>Somebody's own code in all commands: what is done with it is checked, not how fast it is.</summary>
public class UserCodeTests
{
    private const string Short = "--rounds 1 --duration 20ms --quiet --json";
    private static readonly string Own = typeof(Counting).Assembly.Location;
    private static readonly int[] FineOrUnfit = [0, 2, 3];

    [Fact(Timeout = 300_000)]
    public async Task Run_ClassThatIsAWorkload_IsSetUpCheckedAndDisposedOf()
    {
        LoadResult result =
            await new CliUnderTest { UseProcesses = true }.RunAsync($"run --assembly {Own} --class Counting --param step=3 --workers 2 {Short}");

        ArmRecord arm = Assert.Single(Read(result).Arms);
        RoundRecord round = Assert.Single(arm.Rounds);
        Assert.Equal(("Counting", "3"), (arm.Name, arm.Settings["step"]));
        Assert.True(round.Problem is null || round.Disturbed, round.Problem);
        Assert.True(round.Operations > 0);
        Assert.Contains("A step of 3 is disposed of.", result.Error, StringComparison.Ordinal);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("Waiting --param time=1ms", "Waiting", Explicit = true)]
    [InlineData("Waiting --param time=00:00:00.001 --param kind=yield", "Waiting", Explicit = true)]
    [InlineData("Lookups.NewAsync", "NewAsync", Explicit = true)]
    [InlineData("Weir.Cli.Tests.UserCode.Lookups.Old", "Old", Explicit = true)]
    [InlineData("Allocations.Array --param bytes=32", "Array")]
    public async Task Run_CodeOfAnyShape_IsMeasured(string what, string name)
    {
        LoadResult result = await new CliUnderTest().RunAsync($"run --assembly {Own} --method {what} --workers 2 {Short}");

        ArmRecord arm = Assert.Single(Read(result).Arms);
        RoundRecord round = Assert.Single(arm.Rounds);
        Assert.Equal(name, arm.Name);
        Assert.True(round.Problem is null || round.Disturbed, round.Problem);
        Assert.True(round.Operations > 0);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_InstanceMethods_ShareOneObjectThatIsDisposedOf()
    {
        LoadResult result = await new CliUnderTest { UseProcesses = true }.RunAsync(
            $"run --assembly {Own} --method Lookups.Old,Lookups.NewAsync --groups Old:1,NewAsync:2 --param size=7 --param isWarm=true {Short}");

        Assert.Equal(3, Assert.Single(Assert.Single(Read(result).Arms).Rounds).PerWorker.Count);
        Assert.Equal(1, result.Error.Split('\n').Count(static l => l == "7 numbers, warm: used."));
    }

    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData("setup", "weir: Weir.Cli.Tests.UserCode.Failing.SetupAsync failed with IOException: The file is gone.\n")]
    [InlineData("begin", "weir: Weir.Cli.Tests.UserCode.Failing.BeginRoundAsync failed with IOException: The file is gone.\n")]
    [InlineData("create", "weir: Weir.Cli.Tests.UserCode.Failing.CreateOperation failed with IOException: The file is gone.\n")]
    [InlineData("cleanup", "weir: Weir.Cli.Tests.UserCode.Failing.CleanupAsync failed with IOException: The file is gone.\n")]
    public async Task Run_WorkloadThatThrowsOutsideOfOperations_IsOneClearLine(string where, string message)
    {
        LoadResult result =
            await new CliUnderTest { UseProcesses = true }.RunAsync($"run --assembly {Own} --class Failing --param where={where} --workers 1 {Short}");

        Assert.Equal((1, message), (result.ExitCode, result.Error));
    }

    [Theory(Timeout = 300_000)]
    [InlineData("operation", "operations failed, the first with IOException: The file is gone.")]
    [InlineData("check", "Weir.Cli.Tests.UserCode.Failing.Check failed with IOException: The file is gone.", Explicit = true)]
    [InlineData("wrong", "The file is another.", Explicit = true)]
    [InlineData("hang", " within 1 s")]
    public async Task Run_WorkloadThatGoesWrong_IsInvalid(string where, string why)
    {
        // Only what hangs: with a limit of a second, a busy machine gives up what only takes long.
        string limit = where == "hang" ? " --timeout 1s" : "";
        LoadResult result = await new CliUnderTest { UseProcesses = true }.RunAsync(
            $"run --assembly {Own} --class Failing --param where={where} --workers 1{limit} {Short}");

        Assert.Equal(3, result.ExitCode);
        Assert.Contains(why, result.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_WorkloadThatPrints_IsMeasuredAndItsTextIsPassedOn()
    {
        LoadResult result =
            await new CliUnderTest { UseProcesses = true }.RunAsync($"run --assembly {Own} --class Failing --param where=print --workers 1 {Short}");

        Assert.True(Assert.Single(Assert.Single(Read(result).Arms).Rounds).Operations > 0);
        Assert.Contains("It prints.\n", result.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_ConstructorThatThrows_IsOneClearLine()
    {
        LoadResult result = await new CliUnderTest { UseProcesses = true }.RunAsync($"run --assembly {Own} --method Constructing.Call --workers 1 {Short}");

        Assert.Equal((1, "weir: Making an object of Weir.Cli.Tests.UserCode.Constructing failed with IOException: The file is gone.\n"),
            (result.ExitCode, result.Error));
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_MethodsOfKnownCost_AllocateThat()
    {
        LoadResult result = await new CliUnderTest { UseProcesses = true }.RunAsync(
            $"run --assembly {Own} --method Allocations.Nothing,Allocations.Array --workers 1 --rounds 3 --duration 50ms --quiet --json");

        ResultFile measured = Read(result);
        Assert.Equal(["Nothing", "Array"], measured.Arms.Select(static a => a.Name));
        double[] bytes =
            [.. measured.Arms.Select(static a => (double)a.Rounds.Sum(static r => r.AllocatedBytes!.Value) / a.Rounds.Sum(static r => r.Operations))];
        Assert.InRange(bytes[0], 0, 1);
        Assert.InRange(bytes[1], 990, 1010);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_ParametersWithSeveralValues_MeasuresEveryCombinationInTurns()
    {
        LoadResult result = await new CliUnderTest().RunAsync(
            $"run --assembly {Own} --method Lookups.Old --param size=1,10 --param iswarm=true,false --workers 1 --rounds 2 --duration 10ms --quiet --json");

        ResultFile swept = Read(result);
        Assert.Equal(
            ["Old size=1 iswarm=true", "Old size=1 iswarm=false", "Old size=10 iswarm=true", "Old size=10 iswarm=false"],
            swept.Arms.Select(static a => a.Name));
        Assert.Equal(["1", "1", "10", "10"], swept.Arms.Select(static a => a.Settings["size"]));
        Assert.All(swept.Arms, static a => Assert.Equal(2, a.Rounds.Count));
        Assert.Equal([1, 2, 3, 4, 8, 7, 6, 5], swept.Arms.SelectMany(static a => a.Rounds, static (_, r) => r)
            .OrderBy(static r => r.Turn)
            .ThenBy(r => r.Turn == 1 ? r.Order : -r.Order)
            .Select(static r => r.Order));
    }

    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData("cpu --param grain=10us,20us", "grain", "10 us", "20 us")]
    [InlineData("hash --param size=1KB,2KB", "size", "1024", "2048")]
    [InlineData("channel --param capacity=1,8", "capacity", "1", "8")]
    [InlineData("dataflow --param capacity=1,8", "capacity", "1", "8")]
    public async Task Run_BuiltInWorkloadSwept_MeasuresEachValue(string what, string parameter, string one, string other)
    {
        LoadResult result = await new CliUnderTest().RunAsync($"run {what} --workers 2 {Short}");

        ResultFile swept = Read(result);
        Assert.Equal([one, other], swept.Arms.Select(a => a.Settings[parameter]));
        Assert.All(swept.Arms, static a => Assert.True(a.Rounds[0].Operations > 0));
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Scale_ParameterWithSeveralValues_HasASeriesForEach()
    {
        LoadResult result =
            await new CliUnderTest().RunAsync($"scale --assembly {Own} --method Lookups.Old --param size=1,10 --workers 1,2 --fit none {Short}");

        ResultFile scaled = Read(result);
        Assert.Equal([("Old size=1", 1), ("Old size=1", 2), ("Old size=10", 1), ("Old size=10", 2)], scaled.Arms.Select(static a => (a.Name, a.Workers)));
        Assert.Equal([1, 2, 3, 4], scaled.Arms.SelectMany(static a => a.Rounds).Select(static r => r.Order));
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Compare_TwoMethodsSwept_ComparesThemAtEachValue()
    {
        LoadResult result = await new CliUnderTest().RunAsync(
            $"compare --assembly {Own} --method Lookups.Old,Lookups.NewAsync --param size=1,10 --workers 1 --rounds 4 --duration 10ms --quiet --json");

        ResultFile compared = Read(result);
        Assert.Equal(["Old size=1", "NewAsync size=1", "Old size=10", "NewAsync size=10"], compared.Arms.Select(static a => a.Name));
        Assert.All(compared.Comparisons, static c => Assert.Equal(0.005, c.Alpha, 6));
        Assert.Equal(Enumerable.Range(1, compared.Arms.Sum(static a => a.Rounds.Count)),
            compared.Arms.SelectMany(static a => a.Rounds).Select(static r => r.Order).Order());
        Assert.Contains(compared.Findings, static f => f.Text == "2 comparisons share the alpha of 1 %; each is made at 0.5 %.");
    }

    [Theory(Timeout = 300_000)]
    [InlineData("compare", "Lookups.Old,Lookups.Old", "A: Old", "B: Old")]
    [InlineData("compare", "Lookups.Old,Lookups.NewAsync,Lookups.Old", "A: Old", "B: NewAsync", "C: Old")]
    [InlineData("compare", "Lookups.Old,Lookups.Old --param size=1,10", "A: Old size=1", "B: Old size=1", "A: Old size=10", "B: Old size=10")]
    [InlineData("gate", "Lookups.Old,Lookups.Old", "A: Old", "B: Old")]
    public async Task Compare_MethodWithItself_TellsTheArmsApart(string verb, string methods, params string[] arms)
    {
        using TemporaryDirectory directory = new();
        LoadResult result = await new CliUnderTest().RunAsync(
            $"{verb} --assembly {Own} --method {methods} --workers 1 --rounds 2 --duration 10ms --export json --out {directory.Path}");

        ResultFile compared = Lab.Results.ResultJson.Parse(
            await File.ReadAllTextAsync(directory.File($"weir-{verb}.json"), TestContext.Current.CancellationToken), "output");
        Assert.Equal(arms, compared.Arms.Select(static a => a.Name));
        Assert.All(compared.Comparisons, static c => Assert.Equal(('A', true), (c.Against[0], c.Arm[0] > 'A')));
        Assert.All(arms, a => Assert.Contains(a, result.Out, StringComparison.Ordinal));
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Compare_WhoseTimeIsUpBeforeARound_IsInvalidAndNotStopped()
    {
        LoadResult result = await new CliUnderTest().RunAsync(
            $"compare --assembly {Own} --class Waiting,Waiting --param time=01:00:00 --workers 1 --within 1s --timeout 10min --quiet");

        Assert.Equal(3, result.ExitCode);
        Assert.Contains("The time was up before 2 pairs of processes had ended; --within gives them more.", result.Out, StringComparison.Ordinal);
        Assert.DoesNotContain("stopped", result.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Compare_SeveralValuesOfOneThing_AreComparedWithTheFirst()
    {
        LoadResult result = await new CliUnderTest().RunAsync("compare yield --workers 1 --gc wks --rounds 2 --duration 10ms --quiet --json");
        Assert.Equal(1, result.ExitCode);

        result = await new CliUnderTest().RunAsync("compare delay --param grain=1ms,2ms,3ms --workers 2 --rounds 4 --duration 10ms --quiet --json");

        ResultFile compared = Read(result);
        string[] order = [.. compared.Arms.SelectMany(static a => a.Rounds, static (a, r) => (a.Name, r.Order))
            .OrderBy(static x => x.Order)
            .Select(static x => x.Name["delay grain=".Length..])];
        Assert.Equal(["1ms", "2ms", "3ms", "3ms", "2ms", "1ms", "3ms", "2ms", "1ms", "1ms", "2ms", "3ms"], order);
        Assert.All(compared.Comparisons, static c => Assert.Equal("delay grain=1ms x 2", c.Against));
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Compare_TwoBuilds_LoadsEachWithWhatLiesBesideIt()
    {
        using TemporaryDirectory directory = new();
        string Build(string name, int number)
        {
            string library = CompiledCode.Write(directory.File(name), "Library", $"public static class Library {{ public static int Number() => {number}; }}");
            return CompiledCode.Write(directory.File(name), "Code", "namespace N; public class C { public int Expected { get; set; } public int M() => "
                + "Library.Number() == Expected ? Expected : throw new InvalidOperationException($\"It is {Library.Number()}.\"); }", library);
        }

        string before = Build("before", 1);
        string after = Build("after", 2);
        LoadResult result = await new CliUnderTest { UseProcesses = true }.RunAsync(
            $"compare --assembly {before} --against {after} --method N.C.M --param expected=1 --workers 1 --rounds 4 --processes 2 --duration 20ms --within "
                + $"90s --json");

        Assert.Equal(3, result.ExitCode);
        ResultFile compared = ResultJson.Parse(result.Out, "output");
        Assert.Equal(["M (before)", "M (after)"], compared.Arms.Select(static a => a.Name));
        Assert.All(compared.Arms[0].Rounds, static r => Assert.True(r.Problem is null || r.Disturbed, r.Problem));
        Assert.All(compared.Arms[1].Rounds, static r => Assert.Contains("It is 2.", r.Problem, StringComparison.Ordinal));
        Assert.Contains("M (after) x 1", result.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task NamedResult_OfOwnCode_IsMeasuredAgainAndCompared()
    {
        using TemporaryDirectory directory = new();
        LoadResult first = await new CliUnderTest().RunAsync(
            $"run --assembly {Own} --method Lookups.Old --param size=3 --workers 1 --rounds 2 --duration 20ms --quiet --export json --out {directory.Path}");
        Assert.True(FineOrUnfit.Contains(first.ExitCode), first.Error);
        ResultFile measured = ResultJson.Read(directory.File("weir-run.json"));
        await File.WriteAllTextAsync(directory.File("clean.json"), ResultJson.Write(measured with { Findings = [] }), TestContext.Current.CancellationToken);
        await new CliUnderTest().RunAsync($"history save own {directory.File("clean.json")} --dir {directory.File("store")}");

        LoadResult result = await new CliUnderTest().RunAsync($"history check own --dir {directory.File("store")} --quiet --json");

        Assert.Equal(["@own: Old", "now: Old"], Read(result).Arms.Select(static a => a.Name));
    }

    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData("run --assembly DLL --method Lookups.Old,Lookups.NewAsync --rounds 5000 --duration 50ms --workers 1")]
    [InlineData(
        "compare --assembly DLL --method Lookups.Old,Lookups.NewAsync --param size=1,2 --rounds 5000 --duration 50ms --processes 2 --within 10min --workers 1")]
    public async Task Command_OverOwnCodeIsStopped_EndsAsInterrupted(string arguments)
    {
        LoadResult result = await new CliUnderTest { UseProcesses = true, StopsAt = "[3/" }.RunAsync(arguments.Replace("DLL", Own, StringComparison.Ordinal));

        Assert.True(result.ExitCode == 130, result.Error);
        Assert.EndsWith("weir: stopped; the completed part is reported as partial.\n", result.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("/x/before/a.dll", "/x/after/a.dll", "before", "after")]
    [InlineData("/x/main/bin/Release/a.dll", "/x/pr/bin/Debug/a.dll", "main/bin/Release", "pr/bin/Debug")]
    [InlineData("/x/a.dll", "/x/a.dll", "A", "B")]
    [InlineData("/x/a.dll", "/x/new/a.dll", "A", "B")]
    [InlineData("/x/old.dll", "/x/new.dll", "old.dll", "new.dll")]
    public void BuildNames_TwoPaths_AreWhatDiffers(string before, string after, string one, string other) =>
        Assert.Equal((one, other), Cli.Commands.Compare.Sides.BuildNames(before, after));

    private static ResultFile Read(LoadResult result)
    {
        Assert.True(FineOrUnfit.Contains(result.ExitCode), result.Error);
        return ResultJson.Parse(result.Out, "output");
    }
}
