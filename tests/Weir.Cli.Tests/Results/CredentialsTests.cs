using Weir.Cli.Kit.Hosting;

namespace Weir.Cli.Tests.Results;

/// <summary>What a command prints of an exception.</summary>
public sealed class CredentialsTests
{
    [Theory]
    [InlineData("57P01: terminating connection\n\nDETAIL: Detail redacted as it may contain sensitive data. Specify 'Include Error Detail'.",
        "57P01: terminating connection")]
    [InlineData("first\nsecond", "first second")]
    [InlineData("23505: twice\n\nDETAIL: Key (id)=(1) already exists.", "23505: twice  DETAIL: Key (id)=(1) already exists.")]
    [InlineData("Failed to connect to amqp://u:secret@host/", "Failed to connect to amqp://***@host/")]
    public void LineOf_AnException_IsOneLineWithoutWhatHelpsNobody(string message, string expected) =>
        Assert.Equal(expected, Credentials.LineOf(new InvalidOperationException(message)));
}
