using System.Globalization;

namespace Weir.RabbitMQ;

/// <summary>What is wrong with a message as a whole. Used before its values are read, and to say why it is a dead letter.</summary>
internal static class Unreadable
{
    /// <returns>Why the message cannot be delivered; null if it can.</returns>
    public static (DeadLetterReason Reason, string Error)? Find(ReadOnlySpan<byte> body, RabbitWorkQueueOptions options)
    {
        if (body.Length > options.LargestMessage)
        {
            return (DeadLetterReason.TooLarge, string.Create(
                CultureInfo.InvariantCulture,
                $"The message has {body.Length:N0} bytes, and the queue takes at most {options.LargestMessage:N0} (MaxMessageBytes, MaxItemBytes)."));
        }

        try
        {
            var reader = new EnvelopeReader(body);
            while (reader.Read())
            {
            }

            return null;
        }
        catch (FormatException e)
        {
            return (DeadLetterReason.Undecodable, e.Message);
        }
    }
}
