namespace Weir.TestKit;

/// <summary>An error that only a test throws.</summary>
public sealed class TestException : Exception
{
    public TestException()
    {
    }

    public TestException(string message)
        : base(message)
    {
    }

    public TestException(string message, Exception innerException)
        : base(message, innerException)
    {
    }
}
