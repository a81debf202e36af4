using Weir.Cli.Tests.Support;

namespace Weir.Cli.Tests.UserCode;

/// <summary>Whatever is wrong with somebody's own code is told in one sentence, before anything is measured.</summary>
public class UserCodeInputTests
{
    private const string Ns = "Weir.Cli.Tests.UserCode.";
    private static readonly string Own = typeof(Counting).Assembly.Location;

    [Theory(Timeout = 300_000)]
    [InlineData("Lookups.Odl", "--method 'Lookups.Odl' is not in Weir.Cli.Tests.dll; the nearest are ")]
    [InlineData("Weir.Cli.Tests.UserCode.Lookups.Number", "--method 'Weir.Cli.Tests.UserCode.Lookups.Number' is not in Weir.Cli.Tests.dll; the nearest are ")]
    [InlineData("Lookups", "--method 'Lookups' is a class of Weir.Cli.Tests.dll that does not implement Weir.Lab.Workers.IWorkload; name one of its methods, "
        + "as Weir.Cli.Tests.UserCode.Lookups.Old.")]
    [InlineData("UserCode.Abstract", "--method 'UserCode.Abstract' is abstract, so it has no objects.")]
    [InlineData("Unmakeable", "--method 'Weir.Cli.Tests.UserCode.Unmakeable': Weir.Cli.Tests.UserCode.Unmakeable has no public constructor whose parameters "
        + "all have a default or are set with --param; the smallest needs address (Uri).")]
    [InlineData("Waiting", "--method 'Weir.Cli.Tests.UserCode.Waiting': Weir.Cli.Tests.UserCode.Waiting has no public constructor whose parameters all have a "
        + "default or are set with --param; the smallest needs time (TimeSpan).")]
    [InlineData("Signatures.FireAndForget", "--method 'Signatures.FireAndForget' is async void, so its end cannot be detected; let it return a Task.")]
    [InlineData("Signatures.WithArguments", "--method 'Signatures.WithArguments' takes (int[], string); a measured method has no parameters, or a "
        + "CancellationToken; make them properties of its class, and set them with --param.")]
    [InlineData("Signatures.Generic", "--method 'Signatures.Generic' is generic; write a method without type parameters that calls it.")]
    [InlineData("Lookups.Old,Lookups.Old",
        "--method must be different methods or classes separated by commas, each as Namespace.Class.Method or Namespace.Class; it is "
            + "'Lookups.Old,Lookups.Old'.")]
    [InlineData("Counting --groups a:1,b:1 --workers 2", "--workers and --groups cannot be used together; each group has its own number of workers.")]
    [InlineData(
        "Lookups.Old --groups a:1,b:1", "--groups needs the workload channel, or several methods of an assembly; in other workloads, all workers do the same.")]
    [InlineData("Lookups.Old,Counting --groups Old:1,Counting:1",
        "--groups with --method is for methods; 'Weir.Cli.Tests.UserCode.Counting' is a class, which gets the group of each worker itself.")]
    [InlineData("Counting --grain 1ms", "--grain needs a built-in workload: cpu, io or delay.")]
    [InlineData("Counting --param stepp=1", "--param 'stepp': Weir.Cli.Tests.UserCode.Counting has no such parameter; the nearest is Step.")]
    [InlineData("Counting --param Step=x", "--param Step must be a value of the type int; it is 'x'.")]
    [InlineData("Counting --param step=99999999999", "--param step must be a value of the type int; it is '99999999999'.")]
    [InlineData("Waiting --param time=1ms --param kind=x", "--param kind must be one of Delay, Yield; it is 'x'.")]
    [InlineData("Waiting --param time=soon", "--param time must be a time from 0 ns to 86400 s such as 10us; it is 'soon'.")]
    [InlineData(
        "Lookups.Old --param size=1,1", "--param must be name=value, or name=value,value with different values, such as size=1,10,100; it is 'size=1,1'.")]
    [InlineData("Lookups.Old --param size", "--param must be name=value, or name=value,value with different values, such as size=1,10,100; it is 'size'.")]
    [InlineData("Lookups.Old --param size=1 --param Size=2", "--param gives 'Size' twice; put its values into one, as Size=1,10,100.")]
    [InlineData("Lookups.Old --param Number=1", "--param 'Number': Weir.Cli.Tests.UserCode.Lookups has no such parameter; the nearest are size, IsWarm.")]
    [InlineData(
        "Signatures.FireAndForget --param a=1", "--method 'Signatures.FireAndForget' is async void, so its end cannot be detected; let it return a Task.")]
    [InlineData("SampleMethods.Number --param a=1", "--param 'a': Weir.Cli.Tests.Commands.Run.SampleMethods has no such static parameter; it has none: of a "
        + "static method, a parameter is a static property of its class that can be set.")]
    [InlineData("Lookups.Old --param size=1,2,3,4,5,6,7 --param iswarm=true,false,x,y,z", "--param gives 35 combinations (7 x 5); 32 are measured at most.")]
    public async Task Run_CodeThatCannotBeMeasured_IsOneClearLine(string what, string message)
    {
        LoadResult result = await new CliUnderTest().RunAsync($"run --assembly {Own} --method {what}");

        Assert.Equal(1, result.ExitCode);
        Assert.StartsWith($"weir: {message}", result.Error, StringComparison.Ordinal);
        Assert.Equal(1, result.Error.Count(static c => c == '\n'));
        Assert.Empty(result.Out);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("run --assembly DLL", "--assembly needs --method Namespace.Class.Method, or --class with one that implements IWorkload: 'DLL' has ")]
    [InlineData("run --assembly TEXT --method A.B", "--assembly 'TEXT' cannot be loaded: ")]
    [InlineData("run --method A.B", "--assembly and --method must be used together: --assembly X.dll --method Namespace.Class.Method.")]
    [InlineData("compare --assembly DLL --method Lookups.Old",
        "compare needs two things: A and B, several methods in --method (the same one twice shows what this machine can tell apart), "
            + "another build in --against, or several values in --param.")]
    [InlineData("compare --assembly DLL --method Lookups.Old --against /no/such.dll",
        "--against '/no/such.dll': --assembly must be an assembly that exists; it is '/no/such.dll'.")]
    [InlineData("compare --assembly DLL --against DLL --method Lookups.Old,Lookups.Old", "--method must be different methods or classes separated by commas, ")]
    [InlineData("scale --assembly DLL --method Lookups.Old,Lookups.Old", "--method must be different methods or classes separated by commas, ")]
    [InlineData("compare cpu io --against DLL", "--against is another build of --assembly: --assembly before/X.dll --against after/X.dll.")]
    [InlineData("compare cpu", "compare needs two things: A and B, several methods in --method (the same one twice shows what this machine can tell apart), "
            + "another build in --against, or several values in --param.")]
    [InlineData("compare", "WORKLOAD must be ")]
    [InlineData(
        "compare --assembly DLL --method Lookups.Old --param size=1,2,3,4,5,6,7,8,9",
        "compare compares 8 things with the first; at most 7 are possible at once.")]
    [InlineData("run cpu --param grian=1us", "--param grian: cpu has no such parameter; the nearest are grain, gc.")]
    [InlineData("run cpu --param grain=1", "--param grain must be a time from 1 us to 10 s such as 10us; it is '1'.")]
    [InlineData("run cpu:grain=1us --param grain=2us", "The parameter 'grain' of cpu is given twice.")]
    [InlineData("run channel --param capacity=0", "--param capacity must be a whole number from 1 to 1,000,000; it is '0'.")]
    public async Task Command_CodeThatCannotBeUsed_IsOneClearLine(string arguments, string message)
    {
        using TemporaryDirectory directory = new();
        await File.WriteAllTextAsync(directory.File("text.dll"), "no assembly", TestContext.Current.CancellationToken);
        string Filled(string text) => text.Replace("DLL", Own, StringComparison.Ordinal).Replace("TEXT", directory.File("text.dll"), StringComparison.Ordinal);

        LoadResult result = await new CliUnderTest().RunAsync(Filled(arguments));

        Assert.Equal(1, result.ExitCode);
        Assert.StartsWith($"weir: {Filled(message)}", result.Error, StringComparison.Ordinal);
        Assert.Equal(1, result.Error.Count(static c => c == '\n'));
        Assert.Empty(result.Out);
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_NameThatSeveralEndWith_NamesThem()
    {
        LoadResult result = await new CliUnderTest().RunAsync($"run --assembly {Own} --method Dispose");

        Assert.StartsWith("weir: --method 'Dispose' matches several methods and classes of Weir.Cli.Tests.dll: ", result.Error, StringComparison.Ordinal);
        Assert.EndsWith("; give the whole name.\n", result.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_AssemblyWithOneWorkload_NeedsNoName()
    {
        using TemporaryDirectory directory = new();
        string path = CompiledCode.Write(
            directory.Path, "One", "public class Only : IWorkload { public Operation CreateOperation(WorkerContext c) => Operation.Of(() => 1); }");

        LoadResult result = await new CliUnderTest().RunAsync($"run --assembly {path} --workers 1 --rounds 1 --duration 20ms --quiet --json");

        Assert.Equal("Only", Assert.Single(Lab.Results.ResultJson.Parse(result.Out, "output").Arms).Name);
    }
}
