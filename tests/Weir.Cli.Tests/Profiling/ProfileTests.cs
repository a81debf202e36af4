using Weir.Cli.Tests.Support;
using Weir.Lab.Report.Tables;
using Weir.Lab.Results;
using Weir.Lab.Suites;
using Weir.Tables.SelfChecks;

namespace Weir.Cli.Tests.Profiling;

/// <summary>The option of the command, in processes of their own.</summary>
public class ProfileTests
{
    private static readonly string Own = typeof(ProfiledMethods).Assembly.Location;

    [Fact(Timeout = 300_000)]
    public async Task Run_WithProfile_FindsTheHotMethodAndItsArraysAndAddsNoRound()
    {
        LoadResult result = await new CliUnderTest { UseProcesses = true }
            .RunAsync($"run --assembly {Own} --method ProfiledMethods.Run --workers 1 --rounds 2 --duration 20ms --profile --quiet --json");

        ResultFile file = ResultJson.Parse(result.Out, "output");
        ArmRecord arm = Assert.Single(file.Arms);
        Assert.True(arm.Profile is not null, string.Join('\n', file.Findings) + result.Error);
        Assert.Equal("Weir.Cli.Tests.Profiling.ProfiledMethods.Hot", arm.Profile.Methods().First(static m => m.Name != ProfileRecord.LabLoop).Name);
        Assert.Contains("System.Int64[]", arm.Profile.Allocations.Select(static a => a.Type));

        // The profiled round takes a second at least, the others a fiftieth of it.
        Assert.Equal([1, 2], arm.Rounds.Select(static r => r.Order));
        Assert.True(arm.Profile.Seconds >= 1);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_WithProfileOfANativeCallThatSleeps_ShowsItAsWaiting()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Only there is the processor time of threads known.");
        LoadResult result = await new CliUnderTest { UseProcesses = true }.RunAsync(
            $"run --assembly {Own} --method ProfiledMethods.SleepInTheSystem --workers 2 --rounds 1 --duration 20ms --profile --quiet --json");

        ProfileRecord? profile = Assert.Single(ResultJson.Parse(result.Out, "output").Arms).Profile;
        Assert.NotNull(profile);

        // It sleeps for two milliseconds and more, and computes for some microseconds.
        int slept = profile.Waits.Where(static w => w.Frames.Contains("Sleep", StringComparison.Ordinal)).Sum(static w => w.Samples);
        Assert.True(slept > profile.Samples * 3, $"{slept} and {profile.Samples}: {string.Join('\n', profile.Stacks)}");
        Assert.True(slept > profile.Waiting * 0.9, string.Join('\n', profile.Waits));
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_WithProfileOfSeveral_ProfilesEach()
    {
        LoadResult result = await new CliUnderTest { UseProcesses = true }.RunAsync(
            "run cpu --param grain=10us,20us --workers 1 --rounds 1 --duration 20ms --profile --quiet --json");

        ResultFile file = ResultJson.Parse(result.Out, "output");
        Assert.Equal(2, file.Arms.Count);
        Assert.All(file.Arms, static a => Assert.True(a.Profile is { Samples: > 0 }));
        Assert.All(file.Arms, static a => Assert.Single(a.Rounds));
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_StoppedInTheProfiledRound_ReportsTheRoundsAsPartial()
    {
        LoadResult result =
            await new CliUnderTest { UseProcesses = true, StopsAt = "[1/1]" }.RunAsync("run noop --workers 1 --rounds 1 --duration 20ms --profile --json");

        Assert.Equal(130, result.ExitCode);
        ResultFile file = ResultJson.Parse(result.Out, "output");
        Assert.True(file.Partial);
        Assert.Single(Assert.Single(file.Arms).Rounds);
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_WithoutProfile_HasNone()
    {
        LoadResult result = await new CliUnderTest().RunAsync("run noop --workers 1 --rounds 1 --duration 20ms --quiet --json");

        Assert.Null(Assert.Single(ResultJson.Parse(result.Out, "output").Arms).Profile);
        Assert.DoesNotContain("\"profile\"", result.Out, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_ProfileWhereDiagnosticsAreOff_IsOneClearLine()
    {
        LoadResult result = await new CliUnderTest { Variables = { ["DOTNET_EnableDiagnostics"] = "0" } }.RunAsync("run noop --profile");

        Assert.Equal((1, "weir: --profile needs the runtime's diagnostics, which DOTNET_EnableDiagnostics=0 switches off: run it without that variable.\n"),
            (result.ExitCode, result.Error));
    }

    [Fact(Timeout = 600_000, Explicit = true)]
    public async Task Run_WithProfileOfPlantedWaits_NamesEach()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Only there is the processor time of threads known.");
        LoadResult result = await new CliUnderTest { UseProcesses = true }.RunAsync([.. WaitsCheck.Command(rounds: 1, "50ms"), "--quiet", "--json"]);

        ArmRecord[] arms = [.. ResultJson.Parse(result.Out, "output").Arms];
        Assert.Equal(PlantedWaits.Named.Count, arms.Length);
        Assert.All(arms.Zip(PlantedWaits.Named), static pair => Assert.True(
            WaitsCheck.IsNamed(pair.First.Profile, pair.Second), $"{pair.Second}: {string.Join("; ", WaitSite.Of(pair.First.Profile!.Waits))}"));
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_WithProfileOfAwaits_NamesWhoAwaitsWhomAndWhatBlocksThePool()
    {
        LoadResult result = await new CliUnderTest { UseProcesses = true }.RunAsync(
            $"run --assembly {WeirCommand.UserAssembly} --method PlantedWaits.AwaitsAChain,PlantedWaits.AwaitsTheHolder,PlantedWaits.StarvesThePool "
                + "--workers 8 --rounds 1 --duration 50ms --profile --quiet --json");

        ResultFile file = ResultJson.Parse(result.Out, "output");
        string All(int arm) => string.Join('\n', file.Arms[arm].Profile!.Awaits);
        const string own = "Weir.Lab.Suites.PlantedWaits.";
        ProfileAwait chain = file.Arms[0].Profile!.Awaits.MaxBy(static a => a.Seconds)!;
        Assert.True(chain.Frames == $"{own}AwaitsAChain;{own}AwaitsTheLastAsync;{own}LaterAsync;a delay", All(0));
        Assert.True(chain.Seconds / chain.Times > 0.018, All(0));
        Assert.True(file.Arms[1].Profile!.Awaits[0].Frames == $"{own}AwaitsTheHolder;a task that others complete", All(1));
        Assert.Contains(
            file.Findings, static f => f.Text.Contains("The pool was starved", StringComparison.Ordinal)
                && f.Text.Contains("PlantedWaits.BlocksOnATask by a task: blocks its thread", StringComparison.Ordinal));
    }

    // The truth is timed by hand in this process, part by part.
    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_WithProfileOfLoops_HasTheirShares()
    {
        (string Name, double Seconds)[] byHand = ProfiledMethods.TimeByHand();
        LoadResult result = await new CliUnderTest { UseProcesses = true }.RunAsync(
            $"run --assembly {Own} --method ProfiledMethods.Loops --workers 1 --rounds 1 --duration 200ms --profile --quiet --json");

        ProfileRecord profile = Assert.Single(ResultJson.Parse(result.Out, "output").Arms).Profile!;
        string all = $"{string.Join('\n', byHand)}\n{string.Join('\n', profile.Methods().Take(15))}";
        Assert.All(byHand, part => Assert.True(
            Math.Abs(((double)profile.Methods().First(m => m.Name.EndsWith(part.Name, StringComparison.Ordinal)).Inclusive / profile.Samples)
                - (part.Seconds / byHand.Sum(static p => p.Seconds))) < 0.1,
            all));
    }
}
