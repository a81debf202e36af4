using Weir.Delivery;
using Weir.Delivery.Cli.Commands.Work.Execution;

namespace Weir.Cli.Tests.Commands.Work;

/// <summary>What a list of dead letters says of each.</summary>
public sealed class LetterTextTests
{
    [Theory]
    [InlineData("System.IO.IOException: The disk is full.\r\n   at Shop.Mailer.Send()", "The disk is full.")]
    [InlineData("Shop.Mailer+Refused: 550 shop.example.org: no such user", "550 shop.example.org: no such user")]
    [InlineData("Shop.Failed`1[[System.Int32, System.Private.CoreLib]]: 7 is too much", "7 is too much")]
    [InlineData("PaymentException: The card was declined.", "The card was declined.")]
    [InlineData("System.InvalidOperationException", "System.InvalidOperationException")]
    [InlineData("System.InvalidOperationException: \nMore.", "System.InvalidOperationException: ")]
    [InlineData("Change mailer:0/1/2 (Insert of public.a) cannot be read: its mapping failed.", null)]
    [InlineData("RabbitMQ gave up the message in queue 'mails': rejected.", null)]
    [InlineData("", "")]
    public void Message_OfAnException_HasNoType(string error, string? message)
    {
        DeadLetter letter = Letter(error, DeadLetterReason.Failed);
        Assert.Equal(message ?? error, LetterText.Message(letter));
    }

    [Fact]
    public void Message_OfALetterWithoutAnException_IsItsFirstLine() =>
        Assert.Equal("mail.example.org: no item", LetterText.Message(Letter("mail.example.org: no item\nof this version", DeadLetterReason.Undecodable)));

    private static DeadLetter Letter(string error, DeadLetterReason reason) => new()
    {
        Id = "file/1", Source = "mails", Reason = reason, Error = error, Time = default, Payload = default,
    };
}
