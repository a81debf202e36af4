using Weir.Lab.ColdStart;
using Weir.Lab.Processes;
using Weir.Tables.Startup;

namespace Weir.Lab.Suites.Tests;

/// <summary>How many methods a first call compiles although Weir's assemblies are compiled ahead of time.</summary>
public class CompiledAheadTests
{
    private const int Tries = 3;
    private const string Operators = "operators, 20 numbers that suspend once/";
    private const string Runtimes = "runtimes, 20 numbers that suspend once/";

    // Some 40 of them are the program's own async methods, and what .NET makes of these. A few more come and go with the time that a call takes.
    private static readonly Dictionary<string, int> Most = new()
    {
        [Operators + "SelectParallelAsync"] = 55,
        [Operators + "SelectParallelAsync, retries"] = 55,
        [Operators + "SelectParallelAsync, time limit an item"] = 55,
        [Operators + "SelectParallelOutcomesAsync"] = 55,
        [Operators + "SelectParallelStreamAsync"] = 55,
        [Operators + "SelectParallelStreamAsync, ordered"] = 55,
        [Operators + "ForEachParallelAsync"] = 75,
        [Operators + "BatchParallelAsync"] = 75,
        [Runtimes + "DirectRuntime"] = 65,
        [Runtimes + "ConcurrentRuntime"] = 55,
        [Runtimes + "ParallelRuntime"] = 55,
        [Runtimes + "AutoRuntime"] = 55,
    };

    [Fact(Timeout = 600_000, Explicit = true)]
    public async Task FirstCall_WeirCompiledAhead_CompilesLittleBesidesTheProgram()
    {
        CancellationToken token = TestContext.Current.CancellationToken;
        using ColdBuilds builds = await ColdBuilds.PublishAsync(TextWriter.Null, token);
        ColdBuild packages = Assert.Single(builds.All(), static build => build.Name == "Weir compiled ahead");
        Assert.All(Most.Keys, static key => Assert.NotNull(ColdArms.Find(key)));
        List<string> above = [];
        foreach ((string key, int most) in Most)
        {
            double least = double.MaxValue;
            for (int i = 0; i < Tries && least > most; i++)
            {
                ChildEnd end = await ColdBuilds.Start(["exec", packages.Program, key], token)();
                Assert.True(end.Code == 0, end.Text);
                least = Math.Min(least, ColdReading.Parse(end.Output.Trim()).Methods);
            }

            if (least > most)
            {
                above.Add($"{key}: {least} methods, and {most} are allowed");
            }
        }

        Assert.Empty(above);
    }
}
