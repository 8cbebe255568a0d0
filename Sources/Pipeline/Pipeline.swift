import FanOut
