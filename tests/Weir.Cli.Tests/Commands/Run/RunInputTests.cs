using Weir.Cli.Tests.Support;

namespace Weir.Cli.Tests.Commands.Run;

public class RunInputTests
{
    private const string Names = "noop, cpu, io, delay, yield, mixed, halves, heavy-tail, alloc, channel, lock, hash, http, dataflow or dataflow-inbox, or a "
        + "method with --assembly and --method";

    [Theory(Timeout = 300_000)]
    [InlineData("run", $"WORKLOAD must be {Names}.")]
    [InlineData("run nonsense", $"WORKLOAD must be {Names}; it is 'nonsense'.")]
    [InlineData("scale nonsense", $"WORKLOAD must be {Names}; it is 'nonsense'.")]
    [InlineData("run noop --workers 0", "--workers must be a whole number from 1 to 4,096; it is '0'.")]
    [InlineData("run noop --workers 1,2", "--workers must be a whole number from 1 to 4,096; it is '1,2'.")]
    [InlineData("run noop --duration 1", "--duration must be a time from 10 ms to 3600 s such as 1s; it is '1'.")]
    [InlineData("run noop --rounds 0", "--rounds must be a whole number from 1 to 10,000; it is '0'.")]
    [InlineData("run noop --timeout 5", "--timeout must be a time from 100 ms to 3600 s such as 20s; it is '5'.")]
    [InlineData("scale noop --timeout 0s", "--timeout must be a time from 100 ms to 3600 s such as 20s; it is '0s'.")]
    [InlineData("compare noop noop --timeout 2h", "--timeout must be a time from 100 ms to 3600 s such as 20s; it is '2h'.")]
    [InlineData("run noop --grain 1ms", "--grain needs the workload cpu, io, delay, mixed, halves or heavy-tail; noop has no grain.")]
    [InlineData("run cpu --grain 0s", "--grain must be a time from 1 us to 10 s such as 10us; it is '0s'.")]
    [InlineData("run noop --rate 0", "--rate must be a number of operations per second from 0.1 to 10,000,000 such as 1000/s; it is '0'.")]
    [InlineData("run noop --max-inflight 5", "--max-inflight needs --rate.")]
    [InlineData(
        "run noop --groups a:1", "--groups needs the workload channel, or several methods of an assembly; in other workloads, all workers do the same.")]
    [InlineData("run channel --groups producers:1,eaters:1", "--groups of channel must be producers:N,consumers:M.")]
    [InlineData("run channel --groups producers",
        "--groups must be different names, each with a number of workers, such as producers:1,consumers:7; it is 'producers'.")]
    [InlineData(
        "run channel --groups producers:1,consumers:1 --workers 2",
        "--workers and --groups cannot be used together; each group has its own number of workers.")]
    [InlineData("run channel --groups producers:1,consumers:1 --rate 5", "--rate cannot be used with --groups, because all workers must do the same.")]
    [InlineData("run --assembly x.dll", "--assembly and --method must be used together: --assembly X.dll --method Namespace.Class.Method.")]
    [InlineData("run --assembly /no/such.dll --method A.B", "--assembly must be an assembly that exists; it is '/no/such.dll'.")]
    [InlineData("run noop --assembly x.dll --method A.B", "WORKLOAD cannot be used with --assembly, which has its own.")]
    [InlineData("scale noop --fit line", "--fit must be usl or none; it is 'line'.")]
    [InlineData("compare noop noop:colour=red", "A workload is NAME or NAME:grain=TIME,workers=N,gc=wks; 'noop:colour=red' has 'colour=red'.")]
    [InlineData("compare noop:workers=0 noop", "workers of 'noop:workers=0' must be a whole number from 1 to 4,096; it is '0'.")]
    [InlineData("run noop --gc fast", "--gc must be wks or svr; it is 'fast'.")]
    [InlineData("compare noop:gc=fast noop", "gc of 'noop:gc=fast' must be wks or svr; it is 'fast'.")]
    [InlineData("compare noop noop --across grain", "--across is for two stored results; for workloads measured in turns, the command line says what differs.")]
    [InlineData("compare noop noop --margin 0", "--margin must be a share from 0.01% to 90% such as 3% or 0.03; it is '0'.")]
    [InlineData("compare noop noop --alpha 60%", "--alpha must be a share from 0.01% to 49% such as 3% or 0.03; it is '60%'.")]
    [InlineData("compare noop /no/such.json", "The result file '/no/such.json' cannot be read: ")]
    [InlineData("history check nothing --dir /no/such", "There is no result called 'nothing' in '/no/such'. Keep one with 'weir history save nothing FILE'.")]
    [InlineData("history check ../up", "NAME must be up to 100 letters, digits, '-', '_' and '.'; it is '../up'.")]
    public async Task Command_BadInput_IsOneClearLine(string arguments, string message)
    {
        LoadResult result = await new CliUnderTest().RunAsync(arguments);

        Assert.Equal(1, result.ExitCode);
        Assert.StartsWith($"weir: {message}", result.Error, StringComparison.Ordinal);
        Assert.Equal(1, result.Error.Count(static c => c == '\n'));
        Assert.Empty(result.Out);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("Weir.Cli.Tests.Commands.Run.SampleMethods.Missing", "is not in Weir.Cli.Tests.dll; the nearest are .*SampleMethods.*")]
    [InlineData(
        "Weir.Cli.Tests.Commands.Run.SampleMethods.Overloaded", "has 2 overloads in Weir.Cli.Tests.dll that can be measured; rename one of them")]
    [InlineData("Weir.Cli.Tests.Commands.Run.SampleMethods.WithArgument",
        @"takes \(int\); a measured method has no parameters, or a CancellationToken; make them properties of its class, and set them with --param")]
    public async Task Run_MethodThatCannotBeMeasured_IsOneClearLine(string method, string why)
    {
        LoadResult result = await new CliUnderTest().RunAsync($"run --assembly {typeof(SampleMethods).Assembly.Location} --method {method}");

        Assert.Equal(1, result.ExitCode);
        Assert.Matches($"^weir: --method '{method}' {why}\\.\n$", result.Error);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("run noop")]
    [InlineData("scale noop")]
    [InlineData("compare noop noop")]
    [InlineData("hash --input DIR/in --files 1 --size 1KiB --cache warm")]
    [InlineData("doctor")]
    [InlineData("load --count 1")]
    public async Task Command_FilesThatCannotBeWritten_AreToldBeforeItMeasures(string arguments)
    {
        using TemporaryDirectory directory = new();
        await File.WriteAllTextAsync(directory.File("file"), "", TestContext.Current.CancellationToken);
        string command = arguments.Replace("DIR", directory.Path, StringComparison.Ordinal);
        string taken = directory.File($"weir-{arguments.Split(' ')[0]}.json");
        Directory.CreateDirectory(taken);

        LoadResult inAFile = await new CliUnderTest().RunAsync($"{command} --export md --out {directory.File("file")}/in");
        LoadResult overADirectory = await new CliUnderTest().RunAsync($"{command} --export json --out {directory.Path}");

        Assert.Equal((1, 1), (inAFile.ExitCode, overADirectory.ExitCode));
        Assert.Matches($"^weir: '{directory.File("file")}/in/.*' cannot be written: .*\n$", inAFile.Error);
        Assert.Matches($"^weir: '{taken}' cannot be written: .*\n$", overADirectory.Error);
        Assert.Empty(inAFile.Out + overADirectory.Out);
        Assert.Equal([taken, directory.File("file")], Directory.EnumerateFileSystemEntries(directory.Path).Order(StringComparer.Ordinal).Reverse());
    }
}
