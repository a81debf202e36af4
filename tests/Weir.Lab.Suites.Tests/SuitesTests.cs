using BenchmarkDotNet.Columns;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Reports;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Toolchains.InProcess.Emit;
using Weir.Lab.Suites.Catalog;
using Weir.Lab.Suites.Checking;
using Weir.Lab.Suites.Figures;

namespace Weir.Lab.Suites.Tests;

public class SuitesTests
{
    private const int Few = 20;

    public static TheoryData<string> Names => [.. SuiteCatalog.Suites.Select(static suite => suite.Name)];

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Names))]
    public async Task Setup_EachParameterSetWithFewItems_FindsEqualWorkAndLeavesRunnableArms(string name)
    {
        foreach (SuiteCatalog.ParameterSet parameters in Assert.Single(SuiteCatalog.Select([$"*.{name}.*"])))
        {
            IReadOnlyList<MeasuredCase> cases = await parameters.CreateAsync(Few);
            Assert.NotEmpty(cases);
            foreach (MeasuredCase measured in cases)
            {
                Assert.True(measured.Arms[0].IsBaseline);
                Assert.True(measured.Arms.Count > 1, "A baseline alone is compared with nothing.");
                Assert.Contains(measured.Arms, static arm => IsWeir(arm.Name));
                foreach (Arm arm in measured.Arms)
                {
                    await arm.RunAsync();
                }
            }
        }
    }

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Names))]
    public async Task Goals_OfEachParameterSet_AreJudgedInOneOfItsCases(string name)
    {
        foreach (SuiteCatalog.ParameterSet parameters in Assert.Single(SuiteCatalog.Select([$"*.{name}.*"])))
        {
            IReadOnlyList<MeasuredCase> cases = await parameters.CreateAsync(Few);
            Assert.Equal(
                cases[0].Suite.Goals.Select(static goal => goal.Text).Order(),
                cases.SelectMany(static measured => measured.Goals).Select(static goal => goal.Text).Order());
            foreach (MeasuredCase measured in cases)
            {
                IReadOnlyList<ArmResult> arms = [.. measured.Arms.Select(static arm => new ArmResult(arm.Name, arm.IsBaseline, [new Sample(0, 1, 1, 1, 1)]))];
                CaseResult result = new(measured.Name, Few, arms, measured.Goals);
                Assert.All(result.Goals, goal => Assert.StartsWith(goal.Text, goal.Evaluate(result), StringComparison.Ordinal));
            }
        }
    }

    [Fact(Timeout = 300_000)]
    public Task BenchmarkDotNet_DryInProcess_GivesAResultForEachArm() => Task.Run(static () =>
    {
        // Of its own: the same tests of another tree may run at the same time.
        DirectoryInfo artifacts = Directory.CreateTempSubdirectory("weir-lab-suites-tests-");
        IConfig config = ManualConfig.CreateEmpty()
            .AddJob(Job.Dry.WithToolchain(InProcessEmitToolchain.Instance))
            .AddColumnProvider(DefaultColumnProviders.Instance)
            .AddLogger(NullLogger.Instance)
            .WithArtifactsPath(artifacts.FullName)

            // The tests run in Debug as well; nothing is concluded from the times.
            .WithOptions(ConfigOptions.DisableOptimizationsValidator | ConfigOptions.DisableLogFile);
        Summary summary = BenchmarkRunner.Run<CoreStreamBenchmarks>(config);
        artifacts.Delete(recursive: true);
        Assert.False(summary.HasCriticalValidationErrors);
        Assert.Equal(10, summary.Reports.Length);
        Assert.All(summary.Reports, static report => Assert.True(report.Success));
    });

    private static bool IsWeir(string arm) =>
        arm.Contains("SelectParallel", StringComparison.Ordinal)
        || arm.Contains("ForEachParallel", StringComparison.Ordinal)
        || arm.Contains("BatchParallel", StringComparison.Ordinal)
        || arm.StartsWith("Stream", StringComparison.Ordinal)
        || arm.Contains("_Weir", StringComparison.Ordinal)
        || arm is "Baseline_IndividualItems";
}
