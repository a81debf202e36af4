using Weir.Cli.Tests.Support;

namespace Weir.Cli.Tests.Commands.Load;

/// <summary>The options of a run over queues: what cannot be used is one sentence and exit code 1, before anything is measured.</summary>
public sealed class LoadEngineInputTests
{
    private const int Limit = 60_000;

    [Theory(Timeout = Limit)]
    [InlineData("--engine kafka", "--engine must be memory, postgres or rabbitmq; it is 'kafka'.")]
    [InlineData("--engine memory,memory", "--engine must be different engines separated by commas; it is 'memory,memory'.")]
    [InlineData("--engine memory --consumers 0", "--consumers must be a whole number from 1 to 64; it is '0'.")]
    [InlineData("--engine memory --publishers x", "--publishers must be a whole number from 1 to 64; it is 'x'.")]
    [InlineData("--engine memory --items-per-message 1,1", "--items-per-message must be different whole numbers from 1 to 10,000")]
    [InlineData("--engine memory --items-per-message 0", "--items-per-message must be different whole numbers from 1 to 10,000")]
    [InlineData("--engine memory --rate 0", "--rate must be a number of items per second from 1 to 10,000,000 such as 1000/s; it is '0'.")]
    [InlineData("--engine memory --keys 0", "--keys must be a whole number from 1 to 1,000,000; it is '0'.")]
    [InlineData("--engine memory --patience 1", "--patience must be a time from 100 ms to 3600 s such as 10s; it is '1'.")]
    [InlineData("--engine memory --rate 10 --in-flight 10", "--in-flight cannot be used with --rate")]
    [InlineData("--engine memory --ordered", "--ordered with --engine memory needs --consumers 1")]
    [InlineData("--engine memory --connection Host=h", "--connection is the address of one server")]
    [InlineData("--engine postgres,rabbitmq --connection Host=h", "--connection is the address of one server")]
    [InlineData("--engine postgres", "--connection or WEIR_POSTGRES must say where the server of --engine postgres is")]
    [InlineData("--engine rabbitmq", "--connection or WEIR_RABBITMQ must say where the server of --engine rabbitmq is")]
    [InlineData(
        "--engine rabbitmq --connection Host=h;Password=sesame", "--connection must be an address such as amqp://USER@HOST/VHOST; it is something else")]
    [InlineData("--engine postgres --connection Host=h;Passwort=sesame", "--connection must be an address such as postgres://USER@HOST:5432/DATABASE")]
    [InlineData("--engine memory --count 0", "--count must be a whole number from 1 to 100,000,000; it is '0'.")]
    [InlineData("--engine memory --trials 0", "--trials must be a whole number from 1 to 1,000; it is '0'.")]
    [InlineData("--consumers 0", "--consumers must be a whole number from 1 to 64; it is '0'.")]
    [InlineData("--ordered", "--ordered with --engine memory needs --consumers 1")]
    [InlineData("--connection Host=h", "--connection is the address of one server")]
    public async Task Option_CannotBeUsed_IsOneSentence(string options, string message)
    {
        LoadResult result = await new CliUnderTest().RunAsync($"weir-audit load {options}");
        Assert.Equal((1, ""), (result.ExitCode, result.Out));
        Assert.StartsWith($"weir-audit: {message}", result.Error, StringComparison.Ordinal);
        Assert.Single(result.Error.TrimEnd().Split('\n'));
        Assert.DoesNotContain("sesame", result.Error, StringComparison.Ordinal);
    }

    [Theory(Timeout = Limit)]
    [InlineData("--batch-size 1")]
    [InlineData("--runtime direct")]
    [InlineData("--parallel-size 1")]
    [InlineData("--timeout 1")]
    [InlineData("--preserve-order")]
    [InlineData("--workload cpu")]
    [InlineData("--grain 1ms")]
    [InlineData("--fail-rate 0.1")]
    [InlineData("--sweep 1,2")]
    [InlineData("--input file")]
    [InlineData("--peers")]
    [InlineData("--watch")]
    public async Task Option_OfTheRuntimes_IsRefused(string option)
    {
        LoadResult result = await new CliUnderTest().RunAsync($"weir-audit load --engine memory {option}");
        Assert.Equal(1, result.ExitCode);
        Assert.Equal($"weir-audit: Unrecognized command or argument '{option.Split(' ')[0]}'. See 'weir-audit load --help'.", result.Error.TrimEnd());
    }
}
