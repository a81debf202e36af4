using System.Diagnostics;
using System.Text.Json.Nodes;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Tests.Interleavings;

/// <summary>
/// The same blocks where no process-wide barrier is to be had: decided once a process, so it takes a process of its own. In this one the switch is set to
/// false: a barrier that is slow for a moment, because the machine is busy, must not decide which code the tests are of.
/// </summary>
public class FallbackTests
{
    private const string Switch = "Weir.Dataflow.DisableProcessBarrier";

    [Fact]
    public void IsAvailable_IsTheContraryOfTheSwitch() =>
        Assert.Equal(!(AppContext.TryGetSwitch(Switch, out bool disabled) && disabled), ProcessBarrier.IsAvailable);

    [Theory]
    [InlineData(10, 1_000_000, true)]
    [InlineData(10_000, 1_000_000_000, true)]
    [InlineData(10_001, 1_000_000_000, false)]
    [InlineData(11, 1_000_000, false)]
    public void IsFastEnough_BarrierOfSomeTime_UpToTenMicroseconds(long ticks, long frequency, bool expected) =>
        Assert.Equal(expected, ProcessBarrier.IsFastEnough(ticks, frequency));

    [Fact(Timeout = 600_000)]
    public async Task Contracts_WithoutProcessBarrier_Hold()
    {
        if (!ProcessBarrier.IsAvailable)
        {
            return;
        }

        string name = typeof(FallbackTests).Assembly.GetName().Name!;
        string folder = AppContext.BaseDirectory;
        JsonNode settings =
            JsonNode.Parse(await File.ReadAllTextAsync(Path.Combine(folder, name + ".runtimeconfig.json"), TestContext.Current.CancellationToken))!;
        JsonNode options = settings["runtimeOptions"]!;
        options["configProperties"] ??= new JsonObject();
        options["configProperties"]![Switch] = true;
        string file = Path.Combine(folder, $"{name}.fallback.{Environment.ProcessId}.runtimeconfig.json");
        await File.WriteAllTextAsync(file, settings.ToJsonString(), TestContext.Current.CancellationToken);
        try
        {
            var start = new ProcessStartInfo(Environment.GetEnvironmentVariable("DOTNET_HOST_PATH") ?? "dotnet") { RedirectStandardOutput = true };
            start.Environment.Remove("WEIR_STRESS");
            string[] arguments =
            [
                "exec", "--runtimeconfig", file, Path.Combine(folder, name + ".dll"), "-noColor", "-class", typeof(FallbackTests).FullName!,
                "-class", "*.WeirExecution", "-class", "*.WeirBounding", "-class", "*.WeirNetworks", "-class", "*.WeirStress",
            ];
            foreach (string argument in arguments)
            {
                start.ArgumentList.Add(argument);
            }

            using Process process = Process.Start(start)!;
            string output = await process.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
            await process.WaitForExitAsync(TestContext.Current.CancellationToken);
            Assert.True(process.ExitCode == 0, output);
            Assert.Contains("Failed: 0", output, StringComparison.Ordinal);
            Assert.DoesNotContain("Total: 0", output, StringComparison.Ordinal);
        }
        finally
        {
            File.Delete(file);
        }
    }
}
