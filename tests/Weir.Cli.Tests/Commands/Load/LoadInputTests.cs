using Weir.Cli.Tests.Support;

namespace Weir.Cli.Tests.Commands.Load;

public class LoadInputTests
{
    [Theory(Timeout = 300_000)]
    [InlineData("COUNT", "1234", "count", "1,234")]
    [InlineData("BATCH_SIZE", "10", "batch_size", "10")]
    [InlineData("CDC_CONCURRENCY", "7", "cdc_concurrency", "7")]
    [InlineData("CDC_PARALLEL_SIZE", "3", "cdc_parallel_size", "3")]
    [InlineData("CDC_TIMEOUT", "1.5", "timeout", "1.5 s")]
    [InlineData("PRESERVE_ORDER", "off", "preserve_order", "false")]
    [InlineData("WARMUP", "5", "warmup", "5")]
    public async Task Load_VariableSetAndNoFlag_TakesTheVariable(string variable, string value, string key, string shown)
    {
        LoadResult result = await new CliUnderTest { Variables = { [variable] = value } }.RunAsync("load --runtime direct --trials 1 --details");

        Assert.Equal(0, result.ExitCode);
        Assert.Equal(shown, result.Value(key));
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_RuntimeAndJsonVariables_AreTaken()
    {
        LoadResult result = await new CliUnderTest { Variables = { ["RUNTIME"] = "concurrent", ["JSON"] = "1" } }.RunAsync("load --count 100 --trials 1");

        Assert.Equal(["concurrent"], result.Figures.Keys);
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_FlagAndVariable_TakesTheFlag()
    {
        CliUnderTest cli = new() { Variables = { ["COUNT"] = "5", ["RUNTIME"] = "nonsense", ["PRESERVE_ORDER"] = "false" } };

        LoadResult result = await cli.RunAsync("load --count 6 --runtime parallel --preserve-order --trials 1 --details");

        Assert.Equal(0, result.ExitCode);
        Assert.Equal("6", result.Value("count"));
        Assert.Equal("parallel", result.Value("runtime"));
        Assert.Equal("true", result.Value("preserve_order"));
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_EmptyVariable_CountsAsUnset()
    {
        LoadResult result =
            await new CliUnderTest { Variables = { ["COUNT"] = "", ["JSON"] = "", ["CDC_TIMEOUT"] = "" } }
                .RunAsync("load --runtime direct --trials 1 --details");

        Assert.Equal("500,000", result.Value("count"));
        Assert.Equal("none", result.Value("timeout"));
    }

    [Theory(Timeout = 300_000)]
    [InlineData("--count 0", "--count must be a whole number from 1 to 2,147,483,647; it is '0'.")]
    [InlineData("--count -5", "--count must be a whole number from 1 to 2,147,483,647; it is '-5'.")]
    [InlineData("--count 1,2", "--count must be a whole number from 1 to 2,147,483,647; it is '1,2'.")]
    [InlineData("--count many", "--count must be a whole number from 1 to 2,147,483,647; it is 'many'.")]
    [InlineData("--batch-size 0", "--batch-size must be a whole number from 1 to 100,000,000; it is '0'.")]
    [InlineData("--batch-size -1", "--batch-size must be a whole number from 1 to 100,000,000; it is '-1'.")]
    [InlineData("--count 200000000", "A count above 100,000,000 needs a --batch-size, because each batch is held in memory.")]
    [InlineData("--runtime ractor", "--runtime must be direct, concurrent, parallel, auto or all; it is 'ractor'.")]
    [InlineData("--concurrency 0", "--concurrency must be a whole number from 1 to 1,000,000; it is '0'.")]
    [InlineData("--parallel-size 0", "--parallel-size must be a whole number from 1 to 1,024; it is '0'.")]
    [InlineData("--timeout 0", "--timeout must be a number of seconds from 0.001 to 86,400; it is '0'.")]
    [InlineData("--timeout soon", "--timeout must be a number of seconds from 0.001 to 86,400; it is 'soon'.")]
    [InlineData("--preserve-order perhaps", "--preserve-order must be true or false; it is 'perhaps'.")]
    [InlineData("--warmup -1", "--warmup must be a whole number from 0 to 2,147,483,647; it is '-1'.")]
    [InlineData("--trials 0", "--trials must be a whole number from 1 to 1,000; it is '0'.")]
    [InlineData("--workload sleep", "--workload must be noop, cpu, io, delay, yield, mixed, halves, heavy-tail, alloc, channel, lock, hash, http, dataflow or "
        + "dataflow-inbox; it is 'sleep'.")]
    [InlineData("--workload cpu --grain 1", "--grain must be a time from 100 ns to 10 s such as 10us for this workload; it is '1'.")]
    [InlineData("--workload cpu --grain 1KB", "--grain must be a time from 100 ns to 10 s such as 10us for this workload; it is '1KB'.")]
    [InlineData("--workload io --grain 1us", "--grain must be a time from 100 us to 10 s such as 1ms for this workload; it is '1us'.")]
    [InlineData("--workload alloc --grain 1ms", "--grain must be a size from 32 B to 1 MB such as 1KB for --workload alloc; it is '1ms'.")]
    [InlineData("--grain 1ms", "--grain needs --workload cpu, io, delay, mixed, halves, heavy-tail, alloc or hash.")]
    [InlineData("--fail-rate 1.1", "--fail-rate must be a number from 0 to 1; it is '1.1'.")]
    [InlineData("--fail-rate NaN", "--fail-rate must be a number from 0 to 1; it is 'NaN'.")]
    [InlineData("--sweep a,b", "--sweep must be different whole numbers from 1 to 1,024 separated by commas, such as 1,2,4; it is 'a,b'.")]
    [InlineData("--sweep 1,0", "--sweep must be different whole numbers from 1 to 1,024 separated by commas, such as 1,2,4; it is '1,0'.")]
    [InlineData("--sweep 2,2", "--sweep must be different whole numbers from 1 to 1,024 separated by commas, such as 1,2,4; it is '2,2'.")]
    [InlineData("--sweep 1,2 --runtime direct", "--sweep needs --runtime concurrent, parallel or all; direct has no size.")]
    [InlineData("--sweep 1,2 --runtime auto", "--sweep needs --runtime concurrent, parallel or all; auto chooses its own.")]
    [InlineData("--input /no/such/file", "--input must be a file that exists; it is '/no/such/file'.")]
    [InlineData("--input /no/such/file --workload cpu", "--input brings its own work, so --workload cannot be used with it.")]
    [InlineData("--peers --timeout 1", "--peers cannot be used with a timeout (--timeout or CDC_TIMEOUT), because the peers have no time limit for an item.")]
    [InlineData("--verbose", "Unrecognized command or argument '--verbose'. See 'weir load --help'.")]
    [InlineData("500000", "Unrecognized command or argument '500000'. See 'weir load --help'.")]
    [InlineData("--count", "Required argument missing for option: '--count'. See 'weir load --help'.")]
    public async Task Load_BadInput_SaysWhatIsAllowedInOneLineAndExitsWith1(string options, string sentence)
    {
        LoadResult result = await CliUnderTest.LoadAsync(options);

        Assert.Equal(1, result.ExitCode);
        Assert.Equal($"weir: {sentence}{Environment.NewLine}", result.Error);
        Assert.Empty(result.Out);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("COUNT", "0", "COUNT must be a whole number from 1 to 2,147,483,647; it is '0'.")]
    [InlineData("RUNTIME", "x", "RUNTIME must be direct, concurrent, parallel, auto or all; it is 'x'.")]
    [InlineData("JSON", "2", "JSON must be true or false; it is '2'.")]
    [InlineData("CDC_TIMEOUT", "-1", "CDC_TIMEOUT must be a number of seconds from 0.001 to 86,400; it is '-1'.")]
    public async Task Load_BadVariable_NamesTheVariable(string variable, string value, string sentence)
    {
        LoadResult result = await new CliUnderTest { Variables = { [variable] = value } }.RunAsync("load");

        Assert.Equal(1, result.ExitCode);
        Assert.Equal($"weir: {sentence}{Environment.NewLine}", result.Error);
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_EmptyFile_SaysSo()
    {
        using TemporaryFile file = new("");

        LoadResult result = await CliUnderTest.LoadAsync($"--input {file.Path}");

        Assert.Equal(1, result.ExitCode);
        Assert.Equal($"weir: --input must be a file with at least one line; it is '{file.Path}'.{Environment.NewLine}", result.Error);
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_UnknownCommand_SaysSo()
    {
        LoadResult result = await new CliUnderTest().RunAsync("lode");

        Assert.Equal(1, result.ExitCode);
        Assert.StartsWith("weir: Unrecognized command or argument 'lode'. See 'weir --help'.", result.Error, StringComparison.Ordinal);
        Assert.Empty(result.Out);
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_UnforeseenException_IsOneLineAndExitCode1()
    {
        CliUnderTest cli = new() { CreateRuntime = static _ => throw new InvalidOperationException("No threads\nare left.") };

        LoadResult result = await cli.RunAsync("load --count 10");

        Assert.Equal(1, result.ExitCode);
        Assert.EndsWith($"weir: No threads are left.{Environment.NewLine}", result.Error, StringComparison.Ordinal);
        Assert.DoesNotContain("   at ", result.Error, StringComparison.Ordinal);
        Assert.Empty(result.Out);
    }
}
