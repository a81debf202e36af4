using Weir.Cli.Tests.Support;

namespace Weir.Cli.Tests.Commands.Audit;

public class AuditInputTests
{
    private const string Secret = "sesame-7";

    [Theory(Timeout = 300_000)]
    [InlineData("--rounds 0", "--rounds must be a whole number from 1 to 10,000; it is '0'.")]
    [InlineData("--seed -1", "--seed must be a whole number from 0 to 2,147,483,647; it is '-1'.")]
    [InlineData("--changes none", "--changes must be a whole number from 1 to 1,000,000; it is 'none'.")]
    [InlineData("--workers 17", "--workers must be a whole number from 1 to 16; it is '17'.")]
    [InlineData(
        "--scenario users,loud", "--scenario must be all, or some of faults, no-keys, users, users-keys, blocking, killed-awaiting, killed-blocking, "
            + "killed-mixed, long; it is 'users,loud'.")]
    [InlineData(
        "--scenario all --fault no-key-order",
        "--fault must be left out with --scenario, unless that is faults: what it leads to shows only there.")]
    [InlineData("--fault all", "--fault must be none, ack-before-effect, effect-outside-transaction or no-key-order; it is 'all'.")]
    [InlineData("--patience 1ms", "--patience must be a time from 1 s to 3600 s such as 2min; it is '1ms'.")]
    [InlineData("--output /nowhere/audit.md", "--output must be a file in a folder that exists; there is no folder /nowhere.")]
    public async Task Audit_BadInput_IsOneSentence(string options, string message)
    {
        LoadResult result = await new CliUnderTest().RunAsync($"weir-audit run {options}");
        Assert.Equal(1, result.ExitCode);
        Assert.Equal($"weir-audit: {message}\n", result.Error);
    }

    [Theory(Timeout = 300_000)]
    [InlineData($"postgres://weir:{Secret}@127.0.0.1/weir")]
    [InlineData($"Host=127.0.0.1;Password={Secret};Port={Secret}")]
    [InlineData($"Host=127.0.0.1;{Secret}=1")]
    [InlineData($"Password={Secret}")]
    [InlineData($"Host=127.0.0.1;Port=1;Username=weir;Password={Secret}")]
    public async Task Audit_ConnectionThatCannotBeUsed_IsOneSentenceWithoutIt(string connection)
    {
        foreach (CliUnderTest cli in new[] { new CliUnderTest(), new CliUnderTest { Variables = { ["WEIR_AUDIT_POSTGRES"] = connection } } })
        {
            LoadResult result = await cli.RunAsync(cli.Variables.Count == 0 ? ["weir-audit", "run", "--postgres", connection] : ["weir-audit", "run"]);
            Assert.Equal(1, result.ExitCode);
            Assert.StartsWith("weir-audit: ", Assert.Single(result.Error.TrimEnd().Split('\n')), StringComparison.Ordinal);
            Assert.DoesNotContain(Secret, result.Error + result.Out, StringComparison.Ordinal);
        }
    }
}
