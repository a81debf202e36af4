using Weir.Cli.Tests.Support;
using Weir.Cli.Workloads;
using Weir.Lab.Workers;

namespace Weir.Cli.Tests.UserCode;

/// <summary>Objects of a user's class that cannot be made whole.</summary>
public class UserObjectTests
{
    // What it tells is in an environment variable: NAME.
    private const string Code = """
        namespace N;
        public sealed class Lookup : IDisposable, IWorkload
        {
            public int Size { set => throw new ArgumentException("It is too large."); }
            public void Call() { }
            public Operation CreateOperation(WorkerContext context) => Operation.Of(Call);
            public void Dispose()
            {
                Environment.SetEnvironmentVariable("NAME", Environment.GetEnvironmentVariable("NAME") + "-");
                if (FAILS) throw new InvalidOperationException("It is closed.");
            }
        }
        """;

    [Theory]
    [InlineData("N.Lookup.Call", false)]
    [InlineData("N.Lookup.Call", true)]
    [InlineData("N.Lookup", false)]
    public async Task SetupAsync_AValueCannotBeSet_DisposesOfTheObjectAndTellsWhatFailed(string what, bool failsAtTheEnd)
    {
        string variable = $"WEIR_TEST_{Guid.NewGuid():N}";
        using TemporaryDirectory directory = new();
        string code = Code.Replace("NAME", variable, StringComparison.Ordinal).Replace("FAILS", failsAtTheEnd ? "true" : "false", StringComparison.Ordinal);
        IWorkload workload = WorkloadCatalog.Create(new WorkloadSpec
        {
            Name = "lookup",
            Assembly = CompiledCode.Write(directory.Path, "Lookup", code),
            Methods = [what],
            Values = new Dictionary<string, string> { ["Size"] = "1" },
        });

        InvalidOperationException thrown = await Assert.ThrowsAsync<InvalidOperationException>(
            () => workload.SetupAsync(new WorkerRunSpec { Workload = "lookup" }, TestContext.Current.CancellationToken).AsTask());

        Assert.Equal("Making an object of N.Lookup failed with ArgumentException: It is too large.", thrown.Message);
        Assert.Equal("-", Environment.GetEnvironmentVariable(variable));
    }
}
